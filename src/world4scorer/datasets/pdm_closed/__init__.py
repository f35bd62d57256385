"""PDM-Closed, the rule-based reference planner: paths, forecasts, IDM proposals, their scoring and choice."""
