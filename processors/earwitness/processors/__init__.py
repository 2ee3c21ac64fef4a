"""What runs inside the agent: hooks that report facts and can never harm the call."""

from earwitness.processors.attach import attach
from earwitness.processors.witness import Witness

__all__ = ["Witness", "attach"]
