"""One drawing style: bird's-eye pictures, charts, and findings with their tables and figures."""
