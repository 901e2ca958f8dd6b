"""Run a conversation of OpenHands' SDK; run by the Python of its environment: prompt, URL, project, folder, id."""

import sys
from uuid import UUID

from openhands.sdk import LLM, Conversation
from openhands.tools.preset.default import get_default_agent

prompt, url, project, folder, identity = sys.argv[1:]
llm = LLM(
    model="openai/m", base_url=url, api_key="k", usage_id="agent", num_retries=3, retry_min_wait=0, retry_max_wait=1
)
agent = get_default_agent(llm=llm, cli_mode=True)
conversation = Conversation(agent=agent, workspace=project, persistence_dir=folder, conversation_id=UUID(identity))
conversation.send_message(prompt)
conversation.run()
