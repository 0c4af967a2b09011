"""One session of the studio: what is open, what runs, and what the page may ask of them.

Every method is one thing that the page can do. They are thin: sources are read by ``flow.prepare``, searches are those
of ``flow.run``, verdicts those of ``verify`` and ``sim``, pictures those of the report.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from gridloom import registry
from gridloom.archs.model import Arch
from gridloom.archs.spec import build_spec
from gridloom.compiler.loops.source_name import split, with_file
from gridloom.dfg import json_format as graphs
from gridloom.emit.picture.array import arch_summary, svg_arch
from gridloom.emit.report.data import finite
from gridloom.emit.report.source_listing import SourceListing
from gridloom.errors import GridloomError, OptionError
from gridloom.flow.files import kind_of, load_mapping
from gridloom.flow.inputs import read_arch
from gridloom.flow.loops.listing import list_loops
from gridloom.flow.request import write_command
from gridloom.mapping import json_format
from gridloom.mapping.model import Failure
from gridloom.studio.changes.edits import MappingChange, apply_change
from gridloom.studio.page import shared_page
from gridloom.studio.python_text import kernels
from gridloom.studio.requests import ArrayAsked, FinishAsked, MapAsked, RowAsked, SearchLimits
from gridloom.studio.searches.forms import GALLERY, mapper_forms
from gridloom.studio.searches.jobs import JobQueue, SearchJob
from gridloom.studio.searches.worker import listing_of
from gridloom.studio.views import compare, explain, exports, stores, values
from gridloom.studio.views.opened import Opened, Refused, Shelf, open_mapping
from gridloom.studio.views.scene import failure_scene, mapping_scene
from gridloom.studio.workspace import Workspace
from gridloom.yaml_text import parse_yaml

#: Tiles beyond which the picture of an array alone is not drawn.
_MOST_TILES: Final = 1200

Json = dict[str, Any]


def plain_json(content: Any) -> bytes:
    """Data as a browser reads it: JSON without infinities."""
    return json.dumps(finite(content), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class Session:
    """What the server serves. ``tell`` hears of events for the page, from any thread."""

    def __init__(
        self,
        folder: Path,
        *,
        store: Path | None = None,
        workers: int = 1,
        tell: Callable[[Json], None] = lambda _event: None,
    ) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="gridloom-studio-")
        self.workspace = Workspace(folder, Path(self._temporary.name))
        self.store = store
        self.tell = tell
        self.shown: Shelf[Opened | Refused] = Shelf("mapping", 64)
        self.runs: Shelf[values.StudioRun] = Shelf("run", 8)
        self.start: Json = {}
        self._scenes: Shelf[Json] = Shelf("scene", 16)
        self._scene_texts: Shelf[bytes] = Shelf("scene", 16)
        self._arrays: Shelf[Json] = Shelf("array", 32)
        self._loops: Shelf[list[Json]] = Shelf("list of loops", 32)
        self._opening = threading.Lock()
        self._running = threading.Lock()
        self.jobs = JobQueue(store, workers=workers, answered=self._answered, tell=lambda event: self.tell(event))

    def close(self) -> None:
        """End the searches and remove what was not saved."""
        self.jobs.close()
        self._temporary.cleanup()

    # -- what is there ------------------------------------------------------------------------------------------------

    def hello(self) -> Json:
        """What the page has to know first."""
        return {
            "folder": str(self.workspace.folder),
            "start": self.start,
            "gallery": list(GALLERY),
            "families": {name: registry.entry("archs", name).summary for name in registry.names("archs")},
            "kernels": {name: registry.entry("kernels", name).summary for name in registry.names("kernels")},
            "jobs": self.jobs.listed(),
            "store": None if self.store is None else self.store.name,
        }

    def begin(self, what: str | None) -> None:
        """Open what the command line names: a source, a mapping or a store; OptionError where it is none of them."""
        if what is None:
            return
        named = self._named(what)
        if what.endswith((".sqlite", ".db")):
            self.start = {"view": "explore", "store": named}
            return
        kind = kind_of(str(self.workspace.folder / named) if named != what or self._is_file(named) else what)
        if kind == "mapping":
            key = self.open_mapping(named)["id"]
            self.start = {"view": "mapping", "mapping": key}
            # It is drawn while the browser starts, so that the page need not wait for it.
            threading.Thread(target=self.scene_text, args=(key,), daemon=True).start()
        else:
            self.start = {"view": "write", "arch" if kind == "arch" else "source": named}

    def _is_file(self, name: str) -> bool:
        """Whether a name is that of a file of the working folder, or of a part of one."""
        return (self.workspace.folder / (split(name).file or name)).is_file()

    def _named(self, what: str) -> str:
        """What the command line names as a name within the working folder; a kernel or a family stands for itself.

        A file is looked for in the working folder and then where the command was given. OptionError for one that is
        outside of the working folder.
        """
        name = split(what).file or what
        for found in (self.workspace.folder / name, Path(name)):
            if found.is_file():
                inside = self.workspace.path(str(found.resolve())).relative_to(self.workspace.folder.resolve())
                return str(inside) + what.removeprefix(name)
        return what

    # -- writing and mapping ------------------------------------------------------------------------------------------

    def loops(self, name: str, text: str) -> list[Json]:
        """The loops of a text as it stands in the editor; a loop that cannot be mapped says why.

        A Python text is read, and not executed: its kernels are listed without their operations.
        """
        path = Path(self.workspace.keep(name, text))
        if path.suffix == ".py":
            return kernels(text, name)
        key = hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()
        if (known := self._loops.find(key)) is not None:
            return known
        try:
            rows = [row.to_dict() for row in list_loops(path)]
        except GridloomError as error:
            # The name of the studio's own copy means nothing to the user.
            raise type(error)(str(error).replace(str(path), name)) from None
        for row in rows:
            row["source"] = str(row["source"]).replace(str(path), name, 1)
        self._loops.put(key, rows)
        return rows

    def array(self, asked: ArrayAsked) -> Json:
        """An array as the page shows it: its picture, a line about it, and the forms of the mappers that take it."""
        key = json.dumps([asked.arch, asked.yaml])
        if (known := self._arrays.find(key)) is not None:
            return known
        arch = self._arch(asked)
        found = {
            "name": arch.name,
            "summary": arch_summary(arch),
            "picture": svg_arch(arch, live=True) if len(arch.tiles) <= _MOST_TILES else None,
            "style": arch.style,
            "tiles": [tile.name for tile in arch.tiles] if len(arch.tiles) <= _MOST_TILES else [],
            "mappers": mapper_forms(arch),
            "yaml": _spec_text(arch),
        }
        # A file may change while the studio runs; a family with parameters does not.
        if asked.yaml is not None or not asked.arch.endswith((".yaml", ".yml", ".xml", ".json")):
            self._arrays.put(key, found)
        return found

    def _arch(self, asked: ArrayAsked) -> Arch:
        """The array of a request; a GridloomError says what is wrong with its description."""
        if asked.yaml is not None:
            return build_spec(parse_yaml(asked.yaml, "array"), "array")
        return read_arch(self.workspace.array(asked.arch))

    def _arch_value(self, asked: ArrayAsked) -> Any:
        """The array of a request as a worker takes it, checked: a text, or the data of a description."""
        self._arch(asked)
        return parse_yaml(asked.yaml, "array") if asked.yaml is not None else self.workspace.array(asked.arch)

    def map(self, asked: MapAsked) -> SearchJob:
        """Queue the search for a mapping; a GridloomError where the request itself is wrong."""
        name = asked.source
        source = self.workspace.source(name, may_run=asked.run_python)
        if asked.text is not None:
            kept = self.workspace.keep(split(name).file or name, asked.text)
            source = with_file(source, kept, may_run=asked.run_python)
            source.check_consent()
        request = {**_budget(asked), "source": source, "arch": self._arch_value(asked.arch)}
        shown = {**_budget(asked), "source": name, "arch": asked.arch.arch or "YAML"}
        return self.jobs.submit(f"{name} on {shown['arch']}", request, {**shown, "arch": request["arch"]})

    def finish(self, asked: FinishAsked) -> SearchJob:
        """Queue a search around the nodes that stay, from where the others are."""
        one = self.mapping(asked.mapping)
        request: Json = _budget(asked)
        if asked.pins:
            request["pin"] = asked.pins
        if asked.from_here and not asked.ii:
            here = {
                instance.node: instance.place
                for instance, tile in zip(one.mapping.instances, one.details.instance_tiles)
                if tile >= 0 and not instance.copy and not one.mapping.dfg.op(instance.node).timeless
            }
            request["init"] = {**here, **asked.pins}
        shown = {**_budget(asked), "source": one.mapping.dfg.name, "arch": one.mapping.arch.name, "pins": asked.pins}
        name = f"{one.mapping.dfg.name} around {len(asked.pins)} pins" if asked.pins else one.mapping.dfg.name
        return self.jobs.submit(name, request, shown, mapping=one.text)

    def _answered(self, job: SearchJob, answer: Json) -> str:
        """Open what a search has made; returns the id under which the page finds it."""
        listing = _listing(job, answer)
        command = command_of(job.asked)
        if answer["mapping"] is not None:
            mapping = json_format.loads(answer["mapping"], job.name)
            pins = job.asked.get("pins") or {}
            one = open_mapping(mapping, job.name, listing=listing, record=answer["record"], command=command, pins=pins)
            self.shown.put(one.id, one)
            return one.id
        self.shown.put(job.id, _refused(job, answer))
        return job.id

    # -- what is open -------------------------------------------------------------------------------------------------

    def open_mapping(self, name: str) -> Json:
        """Open a mapping file of the working folder."""
        return self._open(open_mapping(load_mapping(self.workspace.path(name)), name))

    def _open(self, one: Opened) -> Json:
        self.shown.put(one.id, one)
        return {"id": one.id, "name": one.name}

    def mapping(self, key: str) -> Opened:
        """The opened mapping of an id; OptionError for a failure, and for what is not open any more."""
        one = self.shown.get(key)
        if isinstance(one, Refused):
            raise OptionError("there is no mapping, only the reasons why")
        return one

    def scene(self, key: str) -> Json:
        """What the page draws of a mapping or of a failure."""
        if (known := self._scenes.find(key)) is not None:
            return known
        one = self.shown.get(key)
        with self._opening:
            if (known := self._scenes.find(key)) is not None:
                return known
            scene = failure_scene(one) if isinstance(one, Refused) else mapping_scene(one)
            self._scenes.put(key, scene)
        return scene

    def scene_text(self, key: str) -> bytes:
        """The scene as the page reads it: JSON without infinities, written once."""
        if (known := self._scene_texts.find(key)) is None:
            known = plain_json(self.scene(key))
            self._scene_texts.put(key, known)
        return known

    def explanation(self, key: str) -> Json:
        """Why the II of a mapping is not lower."""
        return explain.explanation(self.mapping(key))

    def comparison(self, first: str, second: str) -> Json:
        """Two mappings side by side."""
        return compare.comparison(self.mapping(first), self.mapping(second))

    def run(self, key: str, asked: Mapping[str, Any]) -> values.StudioRun:
        """Run a mapping and keep its trace; what was run with the same data before is not run again.

        One run at a time: a page that is loaded twice asks twice, and the second finds what the first has made.
        """
        mapping = self.mapping(key).mapping
        name = hashlib.sha256(f"{key}\0{json.dumps(dict(asked), sort_keys=True)}".encode()).hexdigest()[:16]
        with self._running:
            run = self.runs.find(name) or values.run_of(mapping, asked, name)
            self.runs.put(name, run)
        return run

    def change(self, key: str, change: Mapping[str, Any], pins: Mapping[str, str]) -> Json:
        """Change a mapping by hand, check it and open the result."""
        one = self.mapping(key)
        mapping = apply_change(one.mapping, MappingChange.of(dict(change)))
        return self._open(open_mapping(mapping, one.name, listing=one.listing, command=one.command, pins=pins))

    # -- files --------------------------------------------------------------------------------------------------------

    def save(self, name: str, *, text: str | None, key: str | None) -> str:
        """Write a text or a mapping into the working folder; returns the file's name there."""
        if (text is None) == (key is None):
            raise OptionError("give a text or a mapping to save")
        return self.workspace.write(name, text if text is not None else self.mapping(str(key)).text)

    def shared(self, key: str, run: str | None) -> str:
        """A mapping with its run as one HTML file that opens offline."""
        one = self.mapping(key)
        kept = self.runs.find(run) if run is not None else None
        return shared_page(self.scene(key), self.explanation(key), kept, one.text)

    def export(self, key: str, form: str) -> tuple[str, str]:
        """A run for another tool: (text, file name); ``vcd`` or ``perfetto``."""
        forms = {"vcd": (exports.run_as_vcd, "run.vcd"), "perfetto": (exports.run_as_perfetto, "run.perfetto.json")}
        if form not in forms:
            raise OptionError(f"expected one of {', '.join(forms)}, found {form[:40]!r}")
        write, name = forms[form]
        return write(self.runs.get(key)), name

    # -- stores -------------------------------------------------------------------------------------------------------

    def rows(self, name: str) -> Json:
        """The rows of a store of the working folder."""
        return stores.rows_of(self.workspace.path(name), self.workspace.array)

    def open_row(self, asked: RowAsked) -> Json:
        """Open the mapping of a row, or queue the search that makes it again."""
        row = stores.row_of(self.workspace.path(asked.store), asked.key)
        value = row.value if isinstance(row.value, dict) else {}
        if isinstance(text := value.get("mapping"), str):
            mapping = json_format.loads(text, asked.store)
            listing = value.get("listing")
            one = open_mapping(mapping, str(value.get("name", asked.store)), record=value,
                         listing=listing_of(listing if isinstance(listing, dict) else None))  # fmt: skip
            return {"mapping": self._open(one)["id"]}
        return {"job": self._repeat(row.asked.get("parameters"), asked.run_python).to_dict()}

    def _repeat(self, asked: Any, run_python: bool) -> SearchJob:
        """Queue the search that a row of ``bench`` or ``explore`` stands for."""
        if not isinstance(asked, dict) or "source" not in asked or "arch" not in asked:
            raise OptionError("the row does not say how it was made; it cannot be made again")
        arch = asked["arch"]
        request: Json = {
            **_repeated(asked),
            "source": self.workspace.source(str(asked["source"]), may_run=run_python),
            "arch": self.workspace.array(arch) if isinstance(arch, str) else arch,
        }
        return self.jobs.submit(
            f"{asked['source']} on {arch}"[:200], request, {**request, "source": str(asked["source"])}
        )


def _repeated(row: Mapping[str, Any]) -> Json:
    """How the search of a row is repeated; OptionError where the row asks for more than a page may."""
    settings = row.get("settings") or {}
    try:
        return _budget(
            SearchLimits(
                mapper=str(row.get("mapper") or "auto"),
                seed=row.get("seed") or 0,
                effort=row.get("effort") or None,
                time_limit=row.get("time_limit") or 20.0,
                settings={str(key): str(value) for key, value in dict(settings).items()},
            )
        )
    except (TypeError, ValueError):
        raise OptionError("the row is damaged: its mapper, seed, limits or settings are none") from None


def _listing(job: SearchJob, answer: Json) -> SourceListing | None:
    """The source beside a mapping, under the name that the user knows its file by."""
    listing = listing_of(answer.get("listing"))
    name = str(job.asked.get("source", ""))
    named = split(name)
    return None if listing is None else replace(listing, file=named.file if named.ending else listing.file)


def _refused(job: SearchJob, answer: Json) -> Refused:
    """The failure of a search, as the page opens it."""
    told, record = answer["failure"], answer["record"]
    figures = ("mapper", "seed", "seconds", "mii", "res_mii", "rec_mii")
    return Refused(
        id=job.id,
        name=job.name,
        dfg=graphs.loads(answer["graph"]),
        arch=build_spec(answer["arch"], "array"),
        failure=Failure(
            constraint=told["constraint"],
            demand=told["demand"],
            bound=told["bound"],
            levers=tuple(told["levers"]),
            congested=tuple(told["congested"]),
            cause=told.get("cause", "exhausted"),
        ),
        listing=_listing(job, answer),
        command=command_of(job.asked),
        metrics={key: record[key] for key in figures if record[key] is not None},
        ii=job.asked.get("ii"),
    )


def command_of(asked: Mapping[str, Any]) -> str:
    """The command that asks the same on the command line; empty for what it cannot say."""
    if not isinstance(asked.get("arch"), str) or asked.get("pins"):
        return ""
    usual = {"mapper": "auto", "seed": 0}
    return write_command({name: value for name, value in asked.items() if value != usual.get(name, usual)})


def _budget(asked: SearchLimits) -> Json:
    """The fields of a request that say how to search."""
    return {
        "mapper": asked.mapper,
        "ii": asked.ii,
        "seed": asked.seed,
        "time_limit": asked.time_limit if asked.effort is None else None,
        "effort": asked.effort,
        "settings": dict(asked.settings),
    }


def _spec_text(arch: Arch) -> str | None:
    """The description of an array as YAML that can be edited; None where it is too long to read."""
    from gridloom.archs.described.text import yaml_text

    try:
        text = yaml_text(dict(arch.spec))
    except (GridloomError, TypeError, ValueError):
        return None
    return text if len(text) < 100_000 else None
