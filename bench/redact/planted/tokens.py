"""Tokens with a form of their own, as their providers document it, and texts that may contain any of them."""

from __future__ import annotations

TOKENS = """
aws-access-key|AWS_ACCESS_KEY_ID|AKIA{A16}
aws-temporary-key|AWS_ACCESS_KEY_ID|ASIA{A16}
aws-bedrock|AWS_BEARER_TOKEN_BEDROCK|ABSKQmVkcm9ja0FQSUtleS{b110}
github-classic|GITHUB_TOKEN|ghp_{a36}
github-oauth|GH_TOKEN|gho_{a36}
github-user-to-server|GITHUB_TOKEN|ghu_{a36}
github-server-to-server|GITHUB_TOKEN|ghs_{a36}
github-refresh|GITHUB_REFRESH_TOKEN|ghr_{a76}
github-fine-grained|GITHUB_PAT|github_pat_{a22}_{a59}
gitlab-personal|GITLAB_TOKEN|glpat-{w20}
gitlab-deploy|CI_DEPLOY_TOKEN|gldt-{w20}
gitlab-runner|RUNNER_TOKEN|glrt-{w20}
gitlab-trigger|TRIGGER_TOKEN|glptt-{h40}
gitlab-job|CI_JOB_TOKEN|glcbt-64_{w20}
gitlab-feed|FEED_TOKEN|glft-{w20}
gitlab-agent|AGENT_TOKEN|glagent-{w50}
gitlab-scim|SCIM_TOKEN|glsoat-{w20}
azure-devops|AZURE_DEVOPS_EXT_PAT|{a75}AZDO{a5}
azure-client-secret|AZURE_CLIENT_SECRET|{a3}8Q~{a34}
azure-storage-key|AZURE_STORAGE_KEY|{b76}+ASt{b6}==
azure-cosmos-key|COSMOS_KEY|{b76}ACDb{b6}==
azure-search-key|AZURE_SEARCH_KEY|{a42}AzSe{a6}
azure-function-key|FUNCTION_KEY|{a44}AzFu{a6}==
azure-registry-key|ACR_PASSWORD|{a42}+ACR{a6}
google-api|GOOGLE_API_KEY|AIzaSy{w33}
google-client-secret|GOOGLE_CLIENT_SECRET|GOCSPX-{w28}
google-access|GOOGLE_ACCESS_TOKEN|ya29.a0{w120}
google-refresh|GOOGLE_REFRESH_TOKEN|1//0{w100}
openai-project|OPENAI_API_KEY|sk-proj-{w74}T3BlbkFJ{w74}
openai-service|OPENAI_API_KEY|sk-svcacct-{w74}T3BlbkFJ{w74}
openai-old|OPENAI_API_KEY|sk-{a20}T3BlbkFJ{a20}
anthropic|ANTHROPIC_API_KEY|sk-ant-api03-{w93}AA
anthropic-oauth|CLAUDE_CODE_OAUTH_TOKEN|sk-ant-oat01-{w93}AA
openrouter|OPENROUTER_API_KEY|sk-or-v1-{h64}
deepseek|DEEPSEEK_API_KEY|sk-{h32}
huggingface|HF_TOKEN|hf_{c34}
groq|GROQ_API_KEY|gsk_{a52}
replicate|REPLICATE_API_TOKEN|r8_{a37}
perplexity|PPLX_API_KEY|pplx-{a48}
xai|XAI_API_KEY|xai-{a80}
fireworks|FIREWORKS_API_KEY|fw_{a24}
cerebras|CEREBRAS_API_KEY|csk-{l48}
nvidia|NVIDIA_API_KEY|nvapi-{w64}
langsmith|LANGSMITH_API_KEY|lsv2_pt_{h32}_{h10}
langfuse|LANGFUSE_SECRET_KEY|sk-lf-{uuid}
pinecone|PINECONE_API_KEY|pcsk_{a6}_{a63}
elevenlabs|ELEVENLABS_API_KEY|sk_{h48}
tavily|TAVILY_API_KEY|tvly-dev-{a32}
firecrawl|FIRECRAWL_API_KEY|fc-{h32}
jina|JINA_API_KEY|jina_{h32}{w28}
voyage|VOYAGE_API_KEY|pa-{w43}
stripe-secret|STRIPE_SECRET_KEY|sk_live_{a24}
stripe-long|STRIPE_SECRET_KEY|sk_live_51{a97}
stripe-restricted|STRIPE_KEY|rk_live_{a99}
stripe-webhook|STRIPE_WEBHOOK_SECRET|whsec_{a32}
square-access|SQUARE_ACCESS_TOKEN|EAAA{w60}
square-oauth|SQUARE_SECRET|sq0csp-{w43}
shopify-admin|SHOPIFY_ACCESS_TOKEN|shpat_{h32}
shopify-shared|SHOPIFY_API_SECRET|shpss_{h32}
braintree|BRAINTREE_ACCESS_TOKEN|access_token$production${l16}${h32}
slack-bot|SLACK_BOT_TOKEN|xoxb-{d12}-{d13}-{a24}
slack-user|SLACK_USER_TOKEN|xoxp-{d12}-{d12}-{d13}-{h32}
slack-app|SLACK_APP_TOKEN|xapp-1-A{U10}-{d13}-{h64}
slack-webhook|SLACK_WEBHOOK_URL|https://hooks.slack.com/services/T{~U10}/B{~U10}/{a24}
discord-bot|DISCORD_TOKEN|MT{a24}.G{w5}.{w38}
discord-webhook|DISCORD_WEBHOOK_URL|https://discord.com/api/webhooks/{~d19}/{w68}
discord-webhook-old|WEBHOOK|https://discordapp.com/api/webhooks/{~d18}/{w68}
discord-webhook-versioned|WEBHOOK|https://canary.discord.com/api/v10/webhooks/{~d19}/{w68}
teams-webhook|TEAMS_WEBHOOK|https://{~word}.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}
google-chat-webhook|CHAT_WEBHOOK|https://chat.googleapis.com/v1/spaces/{~a11}/messages?key=AIzaSy{w33}&token={w43}
telegram|TELEGRAM_BOT_TOKEN|{d10}:AA{w33}
twilio-key|TWILIO_API_KEY|SK{h32}
sendgrid|SENDGRID_API_KEY|SG.{w22}.{w43}
mailgun|MAILGUN_API_KEY|key-{h32}
mailchimp|MAILCHIMP_API_KEY|{h32}-us{n1}
brevo|BREVO_API_KEY|xkeysib-{h64}-{a16}
resend|RESEND_API_KEY|re_{a8}_{a24}
sentry-dsn|SENTRY_DSN|https://{h32}@o{~d6}.ingest.sentry.io/{~d7}
sentry-dsn-region|SENTRY_DSN|https://{h32}@o{~d16}.ingest.us.sentry.io/{~d16}
sentry-dsn-legacy|SENTRY_DSN|https://{h32}:{h32}@sentry.io/{~d6}
sentry-org|SENTRY_AUTH_TOKEN|sntrys_eyJ{w180}_{a43}
sentry-user|SENTRY_AUTH_TOKEN|sntryu_{h64}
newrelic-user|NEW_RELIC_API_KEY|NRAK-{U27}
newrelic-license|NEW_RELIC_LICENSE_KEY|{h36}NRAL
newrelic-browser|NEW_RELIC_BROWSER_KEY|NRJS-{h19}
grafana-service|GRAFANA_TOKEN|glsa_{a32}_{h8}
grafana-cloud|GRAFANA_CLOUD_TOKEN|glc_eyJ{b117}
honeycomb|HONEYCOMB_API_KEY|hcaik_01{l56}
dynatrace|DT_API_TOKEN|dt0c01.{A24}.{A64}
launchdarkly|LD_SDK_KEY|sdk-{uuid}
posthog|POSTHOG_API_KEY|phx_{a43}
digitalocean|DIGITALOCEAN_TOKEN|dop_v1_{h64}
heroku|HEROKU_API_KEY|HRKU-AA{w58}
fly|FLY_API_TOKEN|fm2_lJPE{b120}
netlify|NETLIFY_AUTH_TOKEN|nfp_{a36}
cloudflare-origin|CF_ORIGIN_KEY|v1.0-{h24}-{h146}
supabase|SUPABASE_ACCESS_TOKEN|sbp_{h40}
supabase-secret|SUPABASE_SECRET_KEY|sb_secret_{w22}_{w8}
planetscale-password|PLANETSCALE_PASSWORD|pscale_pw_{w43}
planetscale-token|PLANETSCALE_TOKEN|pscale_tkn_{w43}
neon|NEON_API_KEY|napi_{l64}
render|RENDER_API_KEY|rnd_{a28}
doppler|DOPPLER_TOKEN|dp.pt.{a43}
vault|VAULT_TOKEN|hvs.{w95}
terraform|TFE_TOKEN|{a14}.atlasv1.{w67}
pulumi|PULUMI_ACCESS_TOKEN|pul-{h40}
onepassword|OP_SERVICE_ACCOUNT_TOKEN|ops_eyJ{b250}
tailscale|TS_AUTHKEY|tskey-auth-{a12}CNTRL-{a32}
sonar|SONAR_TOKEN|squ_{h40}
circleci|CIRCLE_TOKEN|CCIPAT_{a22}_{h40}
buildkite|BUILDKITE_TOKEN|bkua_{h40}
npm|NPM_TOKEN|npm_{a36}
pypi|TWINE_PASSWORD|pypi-AgEIcHlwaS5vcmc{w80}
rubygems|GEM_HOST_API_KEY|rubygems_{h48}
nuget|NUGET_API_KEY|oy2{i43}
crates|CARGO_REGISTRY_TOKEN|cio{a32}
docker|DOCKER_PAT|dckr_pat_{w27}
artifactory|JF_API_KEY|AKCp{a69}
atlassian|JIRA_API_TOKEN|ATATT3xFfGF0{w171}={H8}
bitbucket|BITBUCKET_TOKEN|ATBB{a24}{H8}
linear|LINEAR_API_KEY|lin_api_{a40}
notion|NOTION_TOKEN|ntn_{d11}{a35}
airtable|AIRTABLE_TOKEN|pat{a14}.{h64}
figma|FIGMA_TOKEN|figd_{w40}
hubspot|HUBSPOT_TOKEN|pat-na1-{uuid}
contentful|CONTENTFUL_TOKEN|CFPAT-{w43}
dropbox|DROPBOX_TOKEN|sl.B{w140}
databricks|DATABRICKS_TOKEN|dapi{h32}
mapbox|MAPBOX_TOKEN|sk.eyJ1Ijoi{w80}.{w22}
twitter-bearer|TWITTER_BEARER|AAAAAAAAAAAAAAAAAAAAA{a30}%3D{a50}
facebook|FB_TOKEN|EAA{a15}ZB{a140}
age|AGE_KEY|AGE-SECRET-KEY-1{x58}
postman|POSTMAN_API_KEY|PMAK-{h24}-{h34}
databento|DATABENTO_API_KEY|db-{a29}
zapier-hook|ZAPIER_HOOK|https://hooks.zapier.com/hooks/catch/{~d7}/{l7}
jwt|ACCESS_TOKEN|eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.{claims}.{w43}
jwt-rsa|ID_TOKEN|eyJhbGciOiJSUzI1NiIsImtpZCI6ImE3In0.{claims}.{w342}
"""
"""Name, a variable that the documentation uses or that is usual, and the form (see ``bench.redact.shapes``)."""

ANYWHERE = (
    ("chat", "Here is the credential you need: <v>"),
    ("chat", "I pasted <v> into the form, but the page still says unauthorized. What now?"),
    ("chat", "The key is `<v>`, please do not share it."),
    ("chat", "use this one instead (<v>), the old one expired"),
    ("code", 'client = Client(token="<v>", timeout=30)'),
    ("code", "const config = { region: 'eu', credential: '<v>' };"),
    ("code", "# TODO remove before merge\nKEY = '<v>'\nprint(len(KEY))"),
    ("code", 'var auth = new Auth("<v>"); // rotate weekly'),
    ("env", "export <NAME>=<v>"),
    ("env", "PORT=8080\n<NAME>=<v>\nDEBUG=0\n"),
    ("env", '<NAME>="<v>"'),
    ("json", '{"name": "prod", "<NAME>": "<v>", "enabled": true}'),
    ("json", '{"env":{"<NAME>":"<v>"}}'),
    ("yaml", "env:\n  - name: <NAME>\n    value: <v>\n  - name: MODE\n    value: fast"),
    ("yaml", "auth:\n  <NAME>: '<v>'"),
    ("toml", '[auth]\n<NAME> = "<v>"'),
    ("log", "2026-02-03T11:12:13.456Z ERROR client[831]: rejected credential <v> (401)"),
    ("log", "[worker-3] DEBUG request id=81 auth=<v> status=403 took=18ms"),
    ("url", "GET https://api.service.net/v2/items?limit=10&token=<v>&page=2"),
    ("shell", "curl -sS -H 'Authorization: Bearer <v>' https://api.service.net/v1/me | jq .id"),
    ("shell", "tool login --token <v> --region eu-1"),
    ("shell", "$ echo $<NAME>\n<v>\n$ date"),
    ("result", "| id | value |\n|----|-------|\n| 1 | <v> |\n| 2 | none |"),
    ("result", "id,owner,credential\n17,web,<v>\n18,api,\n"),
    ("result", "-<NAME>=\n+<NAME>=<v>\n CACHE=1"),
    ("result", "config.py:14:    credential = '<v>'"),
)
"""Kinds of texts and texts, in which ``<v>`` is a token and ``<NAME>`` its variable."""
