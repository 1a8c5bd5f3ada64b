"""A second, independent reading of the spec.

Rules: everything here is worked out at run time from ``wire/spec.json`` alone with
``construct`` (interpreted, never compiled), apart from the generated codecs and from the
code that they stand on. Where this reading, a generated codec and a real peer agree,
none of the three has made something up.
"""

from __future__ import annotations

from pdwire.reading.errors import ReadingError, shorten, shorten_value
from pdwire.reading.export import load_spec, packaged_spec, spec_from_json
from pdwire.reading.interpret import Reading
from pdwire.reading.result import Annotation, Fault, Row
from pdwire.reading.spec import Spec, Value

__all__ = [
    "Annotation",
    "Fault",
    "Reading",
    "ReadingError",
    "Row",
    "Spec",
    "Value",
    "load_spec",
    "packaged_spec",
    "shorten",
    "shorten_value",
    "spec_from_json",
]
