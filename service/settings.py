"""Settings of the whole command, one frozen tree: flag over environment over TOML over default.

Environment names are `HOPSIGHT_` + section + `__` + name (`HOPSIGHT_SERVICE__PORT=8470`). The TOML
file is the one that `--settings` or `HOPSIGHT_SETTINGS` names, otherwise `hopsight.toml` in the
working directory when there is one.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from collector import PASSWORD_VARIABLE, BusSettings, CollectorSettings
from pipeline import PipelineSettings, StoreLimits
from service.assigned import value_of
from service.export_key import KEY_VARIABLE
from service.form import said_of
from service.near_name import meant
from service.process_settings import ProcessSettings
from service.service_settings import OWN_VARIABLE, TOKENS_VARIABLE, ServiceSettings

ENVIRONMENT_PREFIX = "HOPSIGHT_"
FILE_VARIABLE = "HOPSIGHT_SETTINGS"
NOT_SETTINGS = frozenset({FILE_VARIABLE, KEY_VARIABLE, PASSWORD_VARIABLE, TOKENS_VARIABLE,
                          OWN_VARIABLE, "HOPSIGHT_CACHE_DIR"})  # fmt: skip
"""Variables with the prefix that are no setting: the file itself, where compiled code is kept, the
key of exports, the password of the bus and tokens, which are never shown."""

DEFAULT_FILE = "hopsight.toml"
NONE = "none"
"""In the place of a value: the setting has none. TOML and the environment have no other word."""
ALL = "see `hopsight settings --dump`"
"""Which settings there are."""
FORMS = {
    "tuple_type": 'should be a list, such as [1], [0x9900, 7], ["swift"] or ["10.2.0.0/16"]',
    "dict_type": "should be a table, such as { NAME = VALUE } in a settings file",
}
"""What is accepted, in the words of a settings file, by what pydantic calls the error."""


class SettingsError(ValueError):
    """A setting that cannot be used: one sentence that names it and what is accepted."""


def default_store() -> str:
    """The store of this user: in `$XDG_DATA_HOME`, else in `~/.local/share`."""
    place = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return f"chdb://{Path(place).expanduser().resolve() / 'hopsight' / 'store'}"


class StoreSettings(StoreLimits):
    """Where results are kept, for how long, and what one query may cost."""

    dsn: str = Field(
        default_factory=default_store,
        description="Store: chdb:///directory, or http(s)://host:port/database of a server; https"
        " takes options of TLS, such as ?ca_cert=/etc/ca.pem.",
    )


class Environment(EnvSettingsSource):
    """Variables: lists and tables as JSON or as a settings file writes them."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """The value, or the text itself, which its setting then refuses by name."""
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value_of(value)


def may_lack(field: FieldInfo) -> bool:
    """Whether a setting may be without a value, and the word none is not itself one."""
    kinds = get_args(field.annotation)
    return type(None) in kinds and not any(NONE in get_args(kind) for kind in kinds)


class Settings(BaseSettings):
    """Every setting of hopsight."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter="__"
    )

    collector: CollectorSettings = Field(default_factory=CollectorSettings)
    pipeline: PipelineSettings = Field(default_factory=PipelineSettings)
    bus: BusSettings = Field(default_factory=BusSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    service: ServiceSettings = Field(default_factory=ServiceSettings)
    process: ProcessSettings = Field(default_factory=ProcessSettings)

    @field_validator("*", mode="before")
    @classmethod
    def taken_away(cls, section: Any, info: ValidationInfo) -> Any:
        """The word none takes away the value of a setting that need not have one."""
        group = cls.model_fields[str(info.field_name)].annotation
        if not isinstance(section, Mapping) or group is None:
            return section
        spared = {name for name, field in group.model_fields.items() if may_lack(field)}
        return {
            name: None if value == NONE and name in spared else value
            for name, value in section.items()
        }

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then the environment, then the TOML file; nothing else is read."""
        del env_settings, dotenv_settings, file_secret_settings
        path = settings_file(os.environ)
        toml = (TomlConfigSettingsSource(settings_cls, path),) if path else ()
        return (init_settings, Environment(settings_cls), *toml)


def settings_file(environment: Mapping[str, str]) -> Path | None:
    """The TOML file in force, or None; a file that was named and is missing is an error."""
    named = environment.get(FILE_VARIABLE)
    if named:
        if not Path(named).is_file():
            there = f"{named} is no file" if Path(named).exists() else f"there is no file {named}"
            raise SettingsError(f"{FILE_VARIABLE}: {there}")
        return Path(named)
    return Path(DEFAULT_FILE) if Path(DEFAULT_FILE).is_file() else None


def load(flags: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """The settings in force; `flags` maps section → name → value, where None means not given.

    Raises:
        SettingsError: one sentence that names the setting and the accepted values.
    """
    _refuse_unknown_variables(os.environ)
    given: dict[str, Any] = {
        section: chosen
        for section, values in (flags or {}).items()
        if (chosen := {name: value for name, value in values.items() if value is not None})
    }
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SettingsError("; ".join(_sentences(error))) from None
    except SettingsError:
        raise
    except (ValueError, OSError, RecursionError) as error:
        path = settings_file(os.environ)
        msg = f"settings cannot be read: {f'{path}: ' if path else ''}{error}"
        raise SettingsError(msg) from None


def rows(settings: BaseModel | None = None) -> Iterator[tuple[str, str, Any, str]]:
    """Each setting as (name, environment variable, value, sentence); without settings, defaults."""
    chosen = settings or Settings.model_construct()
    for section in type(chosen).model_fields:
        group = getattr(chosen, section)
        for name, field in type(group).model_fields.items():
            variable = f"{ENVIRONMENT_PREFIX}{section}__{name}".upper()
            yield f"{section}.{name}", variable, getattr(group, name), field.description or ""


def _names() -> dict[str, str]:
    """Environment variable → dotted name of every setting."""
    return {variable: name for name, variable, _, _ in rows()}


def _refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    """A misspelled variable must not be ignored in silence."""
    known = _names()
    for variable in sorted(environment):
        if (
            not variable.startswith(ENVIRONMENT_PREFIX)
            or variable in NOT_SETTINGS
            or variable in known
        ):
            continue
        msg = f"{variable}: there is no such setting; {meant(variable, known, ALL)}"
        raise SettingsError(msg)


def _sentences(error: ValidationError) -> Iterator[str]:
    """One sentence a wrong setting."""
    for one in error.errors():
        name = ".".join(str(part) for part in one["loc"])
        if one["type"] == "extra_forbidden":
            known = [*_names().values()]
            if len(one["loc"]) == 1:
                known = [*dict.fromkeys(each.partition(".")[0] for each in known)]
            yield f"{name}: there is no such setting; {meant(name, known, ALL)}"
        else:
            reason = FORMS.get(one["type"]) or said_of(one)
            yield f"{name}: {reason}, given: {one.get('input')!r}"
