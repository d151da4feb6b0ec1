"""Commands of one object of options, for typer, which wants a parameter for each option."""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

Options = TypeVar("Options")


def as_command(run: Callable[[Options], None], options: type[Options]) -> Callable[..., None]:
    """A function with a parameter for each field of some options, which runs a command with all of them.

    Parameters
    ----------
    run : function
        The command; it takes one object of options.
    options : dataclass
        Its fields are annotated for typer. A field that is a dataclass itself stands for its fields.
    """

    def command(**given: Any) -> None:
        run(_made(options, given))

    command.__name__, command.__doc__ = run.__name__, run.__doc__
    command.__signature__ = Signature(list(_parameters(options)))  # type: ignore[attr-defined]
    command.__annotations__ = {}
    return command


def _parameters(options: Any) -> Iterator[Parameter]:
    for name, kind, default in _fields(options):
        if is_dataclass(kind):
            yield from _parameters(kind)
        else:
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _made(options: Any, given: dict[str, Any]) -> Any:
    """Options by their values, which are flat."""
    values = {name: _made(kind, given) if is_dataclass(kind) else given[name] for name, kind, _ in _fields(options)}
    return options(**values)


def _fields(options: Any) -> Iterator[tuple[str, Any, Any]]:
    """The name, the type and the default value of each option."""
    kinds = get_type_hints(options, include_extras=True)
    for field in fields(options):
        yield field.name, kinds[field.name], Parameter.empty if field.default is MISSING else field.default
