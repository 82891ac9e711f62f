"""Validates documents with the Python package jsonschema. Each line of the input is {"schema": ..., "documents": [TEXT, ...]}.

Each line of the output is a list of true, false, and null for a schema that recurses without end.
"""

import json
import sys

from jsonschema import Draft202012Validator


def outcome(validator, text):
    try:
        return validator.is_valid(json.loads(text))
    except RecursionError:
        return None


for line in sys.stdin:
    case = json.loads(line)
    validator = Draft202012Validator(case['schema'])
    print(json.dumps([outcome(validator, text) for text in case['documents']]))
