"""PDM-Closed, the rule-based reference planner: paths, forecast, IDM proposals, scoring."""
