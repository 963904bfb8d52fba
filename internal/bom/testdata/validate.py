"""Holds each document of a folder against the official validators: CycloneDX's own, and
SPDX's model, which refuses what it does not know."""

import pathlib
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from spdx_python_model import v3_0_1 as spdx

failed = False
for file in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    text = file.read_text()
    if file.name.startswith("cyclonedx-"):
        version = SchemaVersion.V1_6 if "-1.6-" in file.name else SchemaVersion.V1_7
        error = JsonStrictValidator(version).validate_str(text)
    else:
        objects = spdx.SHACLObjectSet()
        with file.open("rb") as f:
            spdx.JSONLDDeserializer().read(f, objects)
        error = sorted(objects.missing_ids) or None
        kinds = {type(o).__name__ for o in objects.foreach()}
        if not {"SpdxDocument", "software_Sbom", "ai_AIPackage"} <= kinds:
            error = f"it has only {sorted(kinds)}"
    if error is None:
        print(file.name, "is valid")
    else:
        failed = True
        print(file.name, "is not valid:", error)
sys.exit(failed)
