"""A proxy in front of a chatbot's endpoint that checks its answers: `haluagent proxy`. It takes the extra `server`."""
