"""`python -m haluagent` is the command `haluagent`."""

from .cli.main import main

if __name__ == "__main__":
    main()
