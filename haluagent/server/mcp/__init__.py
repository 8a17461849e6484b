"""The checks as tools of the Model Context Protocol: `haluagent mcp`. It takes the extra `mcp`."""
