"""What runs inside the agent: hooks that report facts and can never harm the call."""
