"""Films of logs: cameras beside a bird's-eye view that follows the ego."""
