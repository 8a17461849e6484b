"""`python -m haluagent` is the command `haluagent`."""

from haluagent.cli.main import main

if __name__ == "__main__":
    main()
