"""The stages from provision to promote, each as work for the engine: what goes in, and the function that makes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools import digest
from build_tools.builds.frontend import build_wheel
from build_tools.checks.profile import expectation_for
from build_tools.checks.run import check_wheels, raise_for
from build_tools.checks.show import show_report
from build_tools.config.channels import load_channels
from build_tools.environments.make import finished_environment
from build_tools.files import write_bytes
from build_tools.locking.places import wanted_family
from build_tools.pipeline.build_wishes import recipe_digest, tell_plan, tools_of, wish_parts, wishes_of
from build_tools.pipeline.build_workshop import compiler_of, means_of, never_built_twice
from build_tools.pipeline.built_with import (
    against,
    before_parts,
    edits_before,
    flag_parts,
    inputs,
    packages_digest,
    prove_flags_of,
    prove_imports_of,
)
from build_tools.pipeline.bundling import files_inside, runs_with, with_rocm_inside
from build_tools.pipeline.check_demands import chain_demands, demand_parts
from build_tools.pipeline.engine import RECEIPT, Making, Work, input_digest, stage_folder, watch
from build_tools.pipeline.promote_stage import plan_chain_promotion, promote_chain
from build_tools.pipeline.promoting import override_of
from build_tools.pipeline.publish_stage import plan_chain, publish_chain
from build_tools.pipeline.publishing import group_of, layout_to_publish, missing_from, store_of_channels
from build_tools.pipeline.standing_sources import source_parts
from build_tools.pipeline.test_stage import devices_to_test_on, reach_verdicts
from build_tools.pipeline.verdict_keeping import keep_verdict
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.record import plain, to_json
from build_tools.receipts.stage import BuildResult, CheckResult, PromoteResult, PublishResult, SdkResult, StageReceipt, TestResult
from build_tools.rocm.devices import installed_family
from build_tools.rocm.provision import provision, provision_request
from build_tools.sources.git import Git
from build_tools.testing.install import environment_under_test
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.builds.plan import BuildPlan
    from build_tools.builds.preflight import Compiler
    from build_tools.environments.interpreter import Interpreter
    from build_tools.pipeline.chain import Chain

__all__ = ["PACKAGE_STAGES"]

_CODE: Final = Path(__file__).parents[1]


def provision_work(chain: Chain) -> Work:
    """Return the provisioning: owned files, pins and build requirements go in; an environment with the SDK in it comes out."""
    place = chain.workplace
    interpreter = place.interpreters[chain.python]
    locked = inputs(chain, at_hand=False)
    pins = place.requirements / "build-env.txt"
    request = provision_request(chain.project, locked, tree=chain.tree, interpreter=interpreter, pins=pins)
    targets, family = chain.targets, wanted_family(place, chain.project.name)

    def make(making: Making) -> SdkResult:
        sdk = provision(
            chain.project,
            inputs(chain, at_hand=True),
            tree=chain.tree,
            interpreter=interpreter,
            pins=pins,
            make=lambda wanted: place.environment(
                wanted, runner=making.runner, log=making.log, renew=Stage.PROVISION in place.settings.force
            ),
            runner=making.runner,
            platform=place.platform,
            warn=place.console.warn,
            targets=targets,
            family=family,
        )
        sdk = msgspec.structs.replace(sdk, flags=prove_imports_of(chain, sdk.environment, making))
        making.watched.update({str(path): watch(path) for path in place.settings_files()})
        return SdkResult(value=sdk)

    def intact(receipt: StageReceipt) -> str | None:
        sdk = receipt.result.value if isinstance(receipt.result, SdkResult) else None
        if sdk is None or finished_environment(Path(sdk.environment.folder), sdk.environment.digest, place.platform) is None:
            return "its environment is gone"
        return None

    parts = {
        "owned packages": digest.of_value(sorted([file.filename, file.sha256] for file in request.owned)),
        "build tools": digest.of_file(pins),
        "base index settings": place.settings_identity,
        "requirements": ", ".join(sorted(request.requires)),
        "interpreter": _words_for(interpreter),
    }
    parts |= flag_parts((build.project for build in chain.before), place.platform)
    meant = installed_family([file.distribution for file in request.owned], targets=targets, family=family)
    if meant is not None:
        parts["GPU family"] = meant
    if locked.rocm is not None and locked.rocm.folder is not None:
        parts["ROCm folder"] = f"{locked.rocm.folder} {locked.rocm.version} {locked.rocm.state}"
    return _work(chain, Stage.PROVISION, parts, make, after=(Stage.LOCK,), intact=intact)


def build_work(chain: Chain) -> Work:
    """Return the build: sources as they stand, environment, recipe and targets go in; one wheel comes out."""
    project, source, sdk = chain.project, chain.source(), chain.sdk()
    hooks = chain.folder / "hooks.py"
    place = chain.workplace
    inside = files_inside(chain) if place.settings.bundle_rocm else None
    wishes = wishes_of(place, edited_before=edits_before(chain))
    parts = {
        "compiler": compiler_of(chain, wishes),
        **source_parts(source),
        "environment": digest.of_value([plain(package) for package in sdk.environment.packages]),
        "interpreter": f"{sdk.environment.python_tag} {sdk.environment.python_version}",
        "recipe": recipe_digest(project, place.platform),
        "hooks": digest.of_file(hooks) if hooks.is_file() else "none",
        "targets": ";".join(chain.targets) or "none",
        "platform": place.platform.value,
        **wish_parts(project, wishes, place.platform, mask=place.runner.mask),
        **before_parts(chain),
        **({"ROCm inside": f"{sdk.version} {digest.of_value([file.sha256 for file in inside])}"} if inside is not None else {}),
    }

    def make(making: Making) -> BuildResult:
        means = means_of(chain, parts)

        def note(plan: BuildPlan, compiler: Compiler, hip: Compiler | None) -> None:
            making.environment.update(plan.environment)
            making.tools.update(tools_of(plan, compiler, hip))
            tell_plan(plan, making.tools, place.console)

        built = build_wheel(
            project,
            chain.folder,
            source=source,
            sdk=sdk,
            locked=inputs(chain, at_hand=False),
            folder=making.folder,
            git=Git(runner=making.runner),
            runner=making.runner,
            platform=place.platform,
            jobs=means.jobs,
            log=making.log,
            targets=chain.targets,
            on_plan=note,
            workshop=means.workshop,
            verify=place.settings.verify_reproducible,
            finish=lambda built, folder: (
                built if inside is None else with_rocm_inside(chain, built, inside, folder, runner=making.runner)
            ),
            inside=inside is not None,
            wishes=wishes,
        )
        return BuildResult(value=msgspec.structs.replace(built, against=against(chain)))

    def intact(receipt: StageReceipt) -> str | None:
        wanted = place.settings.verify_reproducible and isinstance(receipt.result, BuildResult)
        return never_built_twice(receipt.result.value) if wanted else None

    return _work(
        chain,
        Stage.BUILD,
        parts,
        make,
        after=(Stage.LOCK, Stage.HIPIFIED_PATCHES, Stage.PROVISION),
        intact=intact,
    )


def check_work(chain: Chain) -> Work:
    """Return the check: the wheels' bytes, the project's demands and the rules go in; a report comes out."""
    built, place = chain.built(), chain.workplace

    def make(making: Making) -> CheckResult:
        report = check_wheels(
            chain.wheel_paths(),
            expectations=expectation_for(chain.project, built, place.platform),
            demands=chain_demands(chain, watched=making.watched),
            say=place.console.say,
            progress=place.console.progress,
            project=chain.project.name,
            jobs=place.jobs,
        )
        # A report that found something is worth keeping where the log lies; the stage's folder goes with the failure.
        write_bytes(making.log.with_suffix(".report.json"), to_json(report))
        show_report(report, place.console)
        raise_for(report)
        write_bytes(making.folder / "report.json", to_json(report))
        return CheckResult(value=report)

    return _work(
        chain,
        Stage.CHECK,
        {
            **_wheel_parts(chain),
            **demand_parts(chain),
            "demands": digest.of_value(
                [plain(chain.project.wheel), list(built.pins), built.version, built.python_tag, built.upstream]
            ),
            "rules": digest.of_value(
                [
                    digest.of_folder(_CODE / room, (_CODE / room).rglob(pattern))
                    for room, pattern in (("checks", "*.py"), ("wheels", "*.py"), ("config/data", "*.toml"))
                ]
            ),
            "platform": place.platform.value,
        },
        make,
        after=(Stage.LOCK, Stage.BUILD),
    )


def publish_work(chain: Chain) -> Work:
    """Return the publication: checked wheels and a place go in; an index that has them comes out."""
    place = chain.workplace
    address, outputs = layout_to_publish(place)
    folder = outputs.pytorch(group_of(chain))
    prefix = folder.prefix
    chain.report()

    def make(making: Making) -> PublishResult:
        published = publish_chain(chain, folder)
        write_bytes(making.folder / "published.json", to_json(published))
        return PublishResult(value=published)

    def intact(receipt: StageReceipt) -> str | None:
        files = receipt.result.value.files if isinstance(receipt.result, PublishResult) else ()
        return missing_from(address, place, prefix, files)

    parts = {
        **_wheel_parts(chain),
        "report": _digest_of(chain, Stage.CHECK),
        "store": place.store_identity(address),
        "prefix": prefix,
    }
    work = _work(chain, Stage.PUBLISH, parts, make, after=(Stage.LOCK, Stage.BUILD, Stage.CHECK), intact=intact)
    return replace(work, plan=lambda: plan_chain(chain, folder))


def test_work(chain: Chain) -> Work:
    """Return the test: the published bytes, what they run with and the smoke tests go in; a verdict bound to the bytes comes out."""
    place, index, built = chain.workplace, chain.index(), chain.built()
    tests = chain.folder / chain.project.tests.folder
    pins = place.requirements / "smoke-env.txt"
    interpreter = place.interpreters[chain.python]
    wheels = [JudgedWheel(filename=file.filename, sha256=file.sha256) for file in index.files]
    devices = devices_to_test_on(place, chain.targets)

    def make(making: Making) -> TestResult:
        request = environment_under_test(
            chain.project,
            published=index,
            wheels=wheels,
            pins=built.pins,
            locked=runs_with(chain, inputs(chain, at_hand=True)),
            interpreter=interpreter,
            requirements=pins,
            network=place.base.network(),
        )
        environment = place.environment(request, runner=making.runner, log=making.log, renew=Stage.TEST in place.settings.force)
        flags = prove_flags_of(chain, environment, making)
        return reach_verdicts(
            chain.project,
            environment=environment,
            wheels=wheels,
            local=built.local,
            flags=flags,
            devices=devices,
            keep=lambda verdict: keep_verdict(verdict, index, place),
            workplace=place,
            runner=making.runner,
            folder=making.folder,
            log=making.log,
        )

    parts = {
        **{f"wheel {file.filename}": file.sha256 for file in index.files},
        "index": index.index_url,
        "runs with": packages_digest(chain),
        "tests": digest.of_folder(tests) if tests.is_dir() else "none",
        "test tools": digest.of_file(pins),
        "requirements": ", ".join(chain.project.tests.requires) or "none",
        "interpreter": _words_for(interpreter),
        "devices": ";".join(f"{one.target} {sorted(one.variables.items())}" for one in devices) or "none",
        **flag_parts((chain.project,), place.platform),
        # What passed at the first attempt is more than what may pass at the third.
        **({"reruns": str(place.settings.reruns)} if place.settings.reruns else {}),
    }
    return _work(chain, Stage.TEST, parts, make, after=(Stage.LOCK, Stage.PUBLISH))


def promote_work(chain: Chain) -> Work:
    """Return the promotion: a published index and a verdict on its bytes go in; a channel that has them comes out."""
    place = chain.workplace
    channel = load_channels().find_channel(place.settings.channel)
    index = chain.index()
    address, override = store_of_channels(place), override_of(place)

    def make(making: Making) -> PromoteResult:
        promotion = promote_chain(chain, channel)
        write_bytes(making.folder / "promotion.json", to_json(promotion))
        return PromoteResult(value=promotion)

    def intact(_receipt: StageReceipt) -> str | None:
        return missing_from(address, place, channel.prefix, index.files)

    parts = {
        "files": digest.of_value([[file.filename, file.sha256] for file in index.files]),
        "verdict": _digest_of(chain, Stage.TEST),
        "channel": digest.of_value(plain(channel)),
        "store": place.store_identity(address),
        **({"override": override} if override is not None else {}),
    }
    work = _work(chain, Stage.PROMOTE, parts, make, after=(Stage.LOCK, Stage.PUBLISH, Stage.TEST), intact=intact)
    return replace(work, plan=lambda: plan_chain_promotion(chain, channel))


def _work(
    chain: Chain,
    stage: Stage,
    parts: Mapping[str, str],
    make: Callable[[Making], BuildResult | CheckResult | PublishResult | TestResult | PromoteResult | SdkResult],
    *,
    after: tuple[Stage, ...],
    intact: Callable[[StageReceipt], str | None] = lambda _receipt: None,
) -> Work:
    name = chain.project.name
    folder = stage_folder(chain.workplace.work_dir, stage, name, input_digest(stage, name, parts))
    upstream = tuple(chain.done[earlier] for earlier in after if earlier in chain.done)
    if stage is Stage.BUILD:
        upstream += tuple(build.done for build in chain.before)
    label = name if chain.python is None else f"{name} for Python {chain.python}"
    return Work(
        python=_python_tag(chain),
        stage=stage,
        project=name,
        parts=parts,
        make=make,
        upstream=upstream,
        receipt=folder / RECEIPT,
        intact=intact,
        label=label,
    )


def _words_for(interpreter: Interpreter) -> str:
    return f"{interpreter.python_tag} {interpreter.version} {interpreter.path}"


def _python_tag(chain: Chain) -> str:
    """Return the tag of the interpreter that a chain's packages are for: as built, where no interpreter of this machine takes part."""
    return chain.built().python_tag if Stage.BUILD in chain.done else chain.python_tag


def _wheel_parts(chain: Chain) -> dict[str, str]:
    return {f"wheel {wheel.filename}": wheel.sha256 for wheel in chain.built().wheels}


def _digest_of(chain: Chain, stage: Stage) -> str:
    return digest.of_value(plain(chain.done[stage].receipt.result)) if stage in chain.done else "none"


PACKAGE_STAGES: Final[Mapping[Stage, Callable[[Chain], Work]]] = {
    Stage.PROVISION: provision_work,
    Stage.BUILD: build_work,
    Stage.CHECK: check_work,
    Stage.PUBLISH: publish_work,
    Stage.TEST: test_work,
    Stage.PROMOTE: promote_work,
}
"""The stages after the sources, by name: what makes the work of a chain."""
