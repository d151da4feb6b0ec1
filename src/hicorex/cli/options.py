"""The options of each command as one object: what they are called, and what they mean together."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hicorex.cli.ending import Settings
from hicorex.cli.parsing import character, kind_pairs, memory_size, name_list, whole_numbers
from hicorex.exceptions import HicorexError

if TYPE_CHECKING:
    from hicorex.input.files import Reading


class Structure(StrEnum):
    """The rules by which variables belong to factors."""

    unique = "unique"
    overlap = "overlap"
    tree = "tree"


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, JSON, Parquet, Feather, .npy or .npz file, workbook, file of SPSS, Stata, SAS, AnnData or R; "
        "a folder of Parquet files; - for standard input.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, or the folder of results that holds it.")]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", help="A value that stands for a missing one, such as -1; may be repeated."),
]
RowNames = Annotated[str | None, typer.Option("--row-names", help="The column with the names of the rows.")]
Groups = Annotated[
    Path | None,
    typer.Option(
        "--groups", help="A CSV file with the names of the columns and their groups, to colour the report by."
    ),
]
Anchors = Annotated[
    Path | None,
    typer.Option(
        "--anchors",
        help="A file of anchors, CSV with the columns factor and variable, or JSON: the variables by which factors are "
        "begun, and which stay with them.",
    ),
]
Delimiter = Annotated[str | None, typer.Option(help="What separates the columns of a text file; found out by default.")]
Decimal = Annotated[str | None, typer.Option(help="The decimal point of a text file, . or ,; found out by default.")]
Encoding = Annotated[str | None, typer.Option(help="The encoding of a text file; found out by default.")]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether a text file begins with the names of its columns; found out by default."
    ),
]
SkipLines = Annotated[int, typer.Option(min=0, help="Lines of a text file before the table, such as those of a title.")]
Sheet = Annotated[str | None, typer.Option(help="The sheet of a workbook; the first that has cells by default.")]
SecondHeader = Annotated[
    bool | None,
    typer.Option(
        "--second-header/--no-second-header",
        help="Whether the row below the header holds names or units, no sample; found out by default.",
    ),
]
Lags = Annotated[
    str | None, typer.Option(help="Add copies of the columns from this number of rows before, such as 1,2.")
]
Time = Annotated[str | None, typer.Option(help="The column by which the rows are put in order for --lags.")]
Transpose = Annotated[bool, typer.Option("--transpose", help="Take the rows of the file as columns.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Number of threads; all cores by default. The results do not depend on it.")
]
Memory = Annotated[
    str | None,
    typer.Option(help="Most memory to take, such as 2GB: a table for which it is too little is read part by part."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what hicorex has written there before, and nothing else.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")]


Out = Annotated[
    str | None,
    typer.Option("--out", "-o", help="File for the whole table, .csv or .parquet; - for standard output."),
]


def _set_debug(value: bool) -> None:
    Settings.debug = Settings.debug or value


Debug = Annotated[bool, typer.Option("--debug", callback=_set_debug, help="Show where in the program an error arose.")]


@dataclass(frozen=True)
class TextOptions:
    """How the values of a file are written."""

    missing: Missing = None
    row_names: RowNames = None
    delimiter: Delimiter = None
    decimal: Decimal = None
    encoding: Encoding = None
    header: Header = None
    skip_lines: SkipLines = 0
    sheet: Sheet = None
    second_header: SecondHeader = None
    transpose: Transpose = False
    lags: Lags = None
    time: Time = None

    def reading(self, **more: Any) -> "Reading":
        """How to read a file, with what else there is to say of it."""
        from hicorex.input.files import Reading

        known = {
            "delimiter": character(self.delimiter),
            "decimal": self.decimal,
            "encoding": self.encoding,
            "header": self.header,
            "missing": tuple(self.missing or ()),
            "row_names": self.row_names,
            "skip_lines": self.skip_lines,
            "sheet": self.sheet,
            "second_header": self.second_header,
            "transpose": self.transpose,
            "lags": () if self.lags is None else whole_numbers(self.lags, "--lags", "numbers of rows such as 1,2"),
            "time": self.time,
        }
        return Reading(**known | more)

    def given(self) -> list[str]:
        """The options that were given, as people write them."""
        return [f"--{name.replace('_', '-')}" for name, value in vars(self).items() if value is not None and value != 0]


@dataclass(frozen=True)
class ResourceOptions:
    """What a command may take of the machine."""

    threads: Threads = None
    memory: Memory = None

    @property
    def limit(self) -> int | None:
        """The most bytes of memory."""
        return memory_size(self.memory)


@dataclass(frozen=True)
class FitOptions:
    """Options of fit."""

    data: Data
    layers: Annotated[
        str, typer.Option(help="Factors in each layer from the bottom up, such as 20,3,1; auto finds them.")
    ] = "auto"
    states: Annotated[
        str, typer.Option(help="States of each factor: one number, or one for each layer; auto finds them.")
    ] = "auto"
    parsimony: Annotated[
        float,
        typer.Option(min=0, max=0.99, help="Share of what is explained that auto forgoes for a smaller model."),
    ] = 0.06
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the results; by default named after DATA.")
    ] = None
    overwrite: Overwrite = False
    use: Annotated[
        list[str] | None,
        typer.Option("--use", help="Columns to use, separated by commas; * and ? stand for any characters."),
    ] = None
    exclude: Annotated[list[str] | None, typer.Option("--exclude", help="Columns to leave out, likewise.")] = None
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kinds", help="How columns are read: NAME=gaussian, rank, categorical or ordered, separated by commas."
        ),
    ] = None
    weights: Annotated[str | None, typer.Option(help="The column with the weights of the rows.")] = None
    groups: Groups = None
    anchors: Anchors = None
    text: TextOptions = TextOptions()
    structure: Annotated[Structure, typer.Option(help="How variables belong to factors.")] = Structure.unique
    starts: Annotated[int | None, typer.Option(min=1, help="Number of starts; chosen by itself if not given.")] = None
    max_iter: Annotated[int, typer.Option(min=1, help="Most iterations of a layer.")] = 200
    folds: Annotated[
        int,
        typer.Option(min=0, help="Parts of the rows, each held out in turn to cross-fit the bound; 0 for none."),
    ] = 5
    stability: Annotated[
        int | None,
        typer.Option(min=0, help="Number of fits to halves of the rows, to see which factors come back; 0 for none."),
    ] = None
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the random numbers.")] = 0
    batch_size: Annotated[int | None, typer.Option(min=2, help="Rows that an iteration looks at; all by default.")] = (
        None
    )
    resources: ResourceOptions = ResourceOptions()
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="The scheduler of a Dask cluster whose workers do the fit.")
    ] = None
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which an interrupted fit goes on; by default beside the results.")
    ] = None
    checkpoint_every: Annotated[float, typer.Option(min=0, help="Seconds between savings of the checkpoint.")] = 60
    quiet: Quiet = False
    as_json: Json = False
    debug: Debug = False

    @property
    def shows(self) -> bool:
        """Whether the fit is shown on its way."""
        return not (self.quiet or self.as_json)

    def reading(self) -> "Reading":
        """How to read the table."""
        return self.text.reading(
            use=name_list(self.use),
            exclude=name_list(self.exclude),
            kinds=kind_pairs(self.kinds),
            weights=self.weights,
        )

    def inputs(self) -> dict[str, Any]:
        """The files that the results are made from, by what the help calls them."""
        return _inputs(data=self.data, groups=self.groups, anchors=self.anchors)


@dataclass(frozen=True)
class TransformOptions:
    """Options of transform."""

    model: Model
    data: Data
    out: Annotated[
        str, typer.Option("--out", "-o", help="File for the labels, .csv or .parquet; - for standard output.")
    ] = "-"
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Give the probability of each state of every factor.")
    ] = False
    log_odds: Annotated[
        bool, typer.Option("--log-odds", help="Give the log-odds of each state but the first against the first.")
    ] = False
    overwrite: Overwrite = False
    text: TextOptions = TextOptions()
    resources: ResourceOptions = ResourceOptions()
    debug: Debug = False

    @property
    def output(self) -> str:
        """What each row gets."""
        if self.probabilities and self.log_odds:
            raise HicorexError("--probabilities and --log-odds are two tables; give one of them.")
        return "probabilities" if self.probabilities else "log_odds" if self.log_odds else "labels"

    def inputs(self) -> dict[str, Any]:
        """As of fit."""
        return _inputs(data=self.data, model=self.model)


@dataclass(frozen=True)
class ScoreOptions:
    """Options of score."""

    model: Model
    data: Data
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="File for the score and the surprise of each row, .csv or .parquet; - for standard output.",
        ),
    ] = None
    explain: Annotated[
        bool,
        typer.Option("--explain", help="With --out, also which variables of each row are odd, and by how many nats."),
    ] = False
    overwrite: Overwrite = False
    text: TextOptions = TextOptions()
    resources: ResourceOptions = ResourceOptions()
    as_json: Json = False
    debug: Debug = False

    def inputs(self) -> dict[str, Any]:
        """As of fit."""
        return _inputs(data=self.data, model=self.model)


@dataclass(frozen=True)
class ReportOptions:
    """Options of report."""

    model: Model
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="The samples to tell of; none for the model alone.")
    ] = None
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the report.")] = Path("report.html")
    overwrite: Overwrite = False
    groups: Groups = None
    title: Annotated[str | None, typer.Option(help="What the page is called; by default after DATA.")] = None
    text: TextOptions = TextOptions()
    resources: ResourceOptions = ResourceOptions()
    debug: Debug = False

    def inputs(self) -> dict[str, Any]:
        """As of fit."""
        return _inputs(data=self.data, model=self.model, groups=self.groups)


@dataclass(frozen=True)
class EditOptions:
    """Options of edit."""

    model: Model
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="The samples for which the new model has its bounds; not for --names."),
    ] = None
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the new model.")] = Path("edited.hicorex")
    overwrite: Overwrite = False
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="Factors to leave out, separated by commas; others stay.")
    ] = None
    merge: Annotated[
        list[str] | None,
        typer.Option("--merge", help="Factors that become one, separated by commas."),
    ] = None
    split: Annotated[list[str] | None, typer.Option("--split", help="A factor that becomes two.")] = None
    freeze: Annotated[
        list[str] | None,
        typer.Option("--freeze", help="Factors that stay while all others of their layer are fitted anew."),
    ] = None
    names: Annotated[
        Path | None,
        typer.Option("--names", help="A names file as reports save it: CSV with the columns factor and name, or JSON."),
    ] = None
    text: TextOptions = TextOptions()
    resources: ResourceOptions = ResourceOptions()
    debug: Debug = False

    def inputs(self) -> dict[str, Any]:
        """As of fit."""
        return _inputs(data=self.data, model=self.model, names=self.names)


@dataclass(frozen=True)
class DescribeOptions:
    """Options of describe."""

    model: Model
    names_prompt: Annotated[
        bool,
        typer.Option("--names-prompt", help="Print top variables and states, for whoever is to name the factors."),
    ] = False
    as_json: Json = False
    debug: Debug = False


@dataclass(frozen=True)
class AssociateOptions:
    """Options of associate."""

    model: Model
    data: Data
    traits: Annotated[
        str,
        typer.Option(
            "--traits", help="A file with a row for each sample; rows are matched by name if both have names."
        ),
    ]
    survival: Annotated[
        list[str] | None,
        typer.Option("--survival", help="Two columns of traits, TIME,EVENT: a time, and 1 if the event came then."),
    ] = None
    out: Out = None
    overwrite: Overwrite = False
    text: TextOptions = TextOptions()
    resources: ResourceOptions = ResourceOptions()
    debug: Debug = False

    def inputs(self) -> dict[str, Any]:
        """The files that the results are made from, by what the help calls them."""
        return _inputs(data=self.data, model=self.model, traits=self.traits)


@dataclass(frozen=True)
class EnrichOptions:
    """Options of enrich."""

    model: Model
    groups: Annotated[
        Path,
        typer.Option("--groups", help="A CSV file with the names of the columns and their groups, or a .gmt file."),
    ]
    out: Out = None
    overwrite: Overwrite = False
    debug: Debug = False

    def inputs(self) -> dict[str, Any]:
        """As of associate."""
        return _inputs(model=self.model, groups=self.groups)


@dataclass(frozen=True)
class CompareOptions:
    """Options of compare."""

    model: Model
    data: Data
    other: Annotated[str | None, typer.Option("--other", help="Another model of the same columns.")] = None
    by: Annotated[str | None, typer.Option("--by", help="The column of DATA with the groups of samples.")] = None
    permutations: Annotated[
        int, typer.Option(min=2, help="How often the columns of DATA are shuffled, without --other and --by.")
    ] = 100
    out: Out = None
    overwrite: Overwrite = False
    text: TextOptions = TextOptions()
    resources: ResourceOptions = ResourceOptions()
    debug: Debug = False

    def inputs(self) -> dict[str, Any]:
        """As of associate."""
        return _inputs(data=self.data, model=self.model, other=self.other)


@dataclass(frozen=True)
class DemoOptions:
    """Options of demo."""

    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("demo-output")
    overwrite: Overwrite = False
    debug: Debug = False


def _inputs(**given: Any) -> dict[str, Any]:
    """The files that an output is made from, by what the help calls them."""
    names = {"data": "DATA", "model": "MODEL"}
    names |= {option: f"the file of --{option}" for option in ("groups", "anchors", "names")}
    names |= {"traits": "the file of --traits", "other": "the model of --other"}
    return {names[what]: path for what, path in given.items() if path is not None}
