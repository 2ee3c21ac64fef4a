"""What runs inside the agent: hooks that report facts and can never harm the call. And beside it, the relay."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from earwitness.processors.attaching import attach
    from earwitness.processors.witness import Witness

__all__ = ["Witness", "attach"]


def __getattr__(name: str) -> Any:
    # Only who asks for a hook loads Pipecat: the relay and the doctor run where there is none.
    if name == "attach":
        from earwitness.processors.attaching import attach  # noqa: PLC0415

        return attach
    if name == "Witness":
        from earwitness.processors.witness import Witness  # noqa: PLC0415

        return Witness
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
