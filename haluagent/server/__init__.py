"""Detections over HTTP, and a page that shows them: `haluagent serve`. It takes the extra `server`."""
