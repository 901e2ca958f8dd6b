"""Evaluate one sample with Inspect AI; run by the Python of its environment: prompt, URL, folder of the logs."""

import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash

prompt, url, folder = sys.argv[1:]
task = Task(dataset=[Sample(input=prompt)], solver=[use_tools(bash()), generate()], sandbox="local")
eval(task, model="openai/m", model_base_url=url, log_dir=folder, display="none", model_args={"responses_api": False})
