"""Kinds of secrets, as those document them who give them out."""

from __future__ import annotations

import hashlib
from random import Random
from typing import NamedTuple

from bench.redact import blocks
from bench.redact.shapes import Value, draw, encoded

SHAPE, TOLD, BLOCK, BASIC, COOKIE = "shape", "told", "block", "basic", "cookie"


class Kind(NamedTuple):
    """A kind of secret."""

    name: str
    shape: str
    variable: str
    """What a variable with it is called."""
    how: str = SHAPE
    """``shape``: its form tells; ``told``: only what stands beside it tells; ``block``: it has several lines;
    ``basic`` and ``cookie``: it stands in such a header only."""

    def draw(self, rng: Random) -> Value:
        """A secret of the kind."""
        return blocks.draw(rng, self.shape) if self.how == BLOCK else draw(rng, self.shape)


def is_aside(name: str) -> bool:
    """Whether a kind or a context is one of the fifth that rules are not written for."""
    return hashlib.sha256(f"set aside: {name}".encode()).digest()[0] % 5 == 0


def kinds() -> list[Kind]:
    """All kinds."""
    rows = [(line.split(), how) for table, how in _TABLES for line in table.strip().split("\n")]
    tokens = [
        Kind(f"jwt-{name.lower()}", f"{encoded({'alg': name, 'typ': 'JWT'})}.{{claims}}.{{w{length}}}", "ACCESS_TOKEN")
        for name, length in (("HS256", 43), ("RS256", 342), ("ES256", 86))
    ]
    keys = [Kind(f"block-{name}", name, "PRIVATE_KEY", BLOCK) for name in blocks.BLOCKS]
    return [*(Kind(name, shape, variable, how) for (name, variable, shape), how in rows), *tokens, *keys]


_SHAPES = """
openai-project OPENAI_API_KEY sk-proj-{w74}T3BlbkFJ{w74}
openai-legacy OPENAI_API_KEY sk-{a20}T3BlbkFJ{a20}
openai-service-account OPENAI_API_KEY sk-svcacct-{w74}T3BlbkFJ{w74}
openai-admin OPENAI_ADMIN_KEY sk-admin-{w58}T3BlbkFJ{w58}
anthropic ANTHROPIC_API_KEY sk-ant-api03-{w93}AA
anthropic-admin ANTHROPIC_ADMIN_KEY sk-ant-admin01-{w93}AA
anthropic-oauth CLAUDE_CODE_OAUTH_TOKEN sk-ant-oat01-{w93}AA
google-api GEMINI_API_KEY AIzaSy{w33}
groq GROQ_API_KEY gsk_{a20}WGdyb3FY{a24}
huggingface HF_TOKEN hf_{c34}
replicate REPLICATE_API_TOKEN r8_{a37}
perplexity PERPLEXITY_API_KEY pplx-{a48}
xai XAI_API_KEY xai-{a80}
openrouter OPENROUTER_API_KEY sk-or-v1-{h64}
deepseek DEEPSEEK_API_KEY sk-{h32}
cerebras CEREBRAS_API_KEY csk-{l48}
fireworks FIREWORKS_API_KEY fw_{a22-24}
nvidia NVIDIA_API_KEY nvapi-{w64}
langsmith LANGSMITH_API_KEY lsv2_pt_{h32}_{h10}
langfuse LANGFUSE_SECRET_KEY sk-lf-{uuid}
tavily TAVILY_API_KEY tvly-dev-{a32}
pinecone PINECONE_API_KEY pcsk_{a5}_{a63}
elevenlabs ELEVENLABS_API_KEY sk_{h48}
aws-key-id AWS_ACCESS_KEY_ID AKIA{A16}
aws-temporary-key-id AWS_ACCESS_KEY_ID ASIA{A16}
aws-session-token AWS_SESSION_TOKEN IQoJb3JpZ2luX2Vj{b300-420}==
aws-bedrock AWS_BEARER_TOKEN_BEDROCK ABSKQmVkcm9ja0FQSUtleS{b106}==
azure-client-secret AZURE_CLIENT_SECRET {a3}8Q~{t34}
azure-devops AZURE_DEVOPS_EXT_PAT {a52}JQQJ99B{U1}ACAAAAAAAAAAAAASAZDO{a4}
azure-openai-long AZURE_OPENAI_API_KEY {a52}JQQJ99B{U1}AC{a4}FXJ3w3AAABACOG{a4}
google-oauth-secret GOOGLE_CLIENT_SECRET GOCSPX-{w28}
google-refresh-token GOOGLE_REFRESH_TOKEN 1//0{w100}
google-access-token GOOGLE_ACCESS_TOKEN ya29.a0{w160}
digitalocean DIGITALOCEAN_TOKEN dop_v1_{h64}
digitalocean-oauth DIGITALOCEAN_OAUTH_TOKEN doo_v1_{h64}
digitalocean-refresh DIGITALOCEAN_REFRESH_TOKEN dor_v1_{h64}
cloudflare-user-token CLOUDFLARE_API_TOKEN cfut_{a40}{h8}
cloudflare-account-token CLOUDFLARE_API_TOKEN cfat_{a40}{h8}
cloudflare-origin-ca CLOUDFLARE_CA_KEY v1.0-{h24}-{h146}
fly FLY_API_TOKEN fm2_{b160}
heroku HEROKU_API_KEY HRKU-AA{w58}
netlify NETLIFY_AUTH_TOKEN nfp_{a36}
render RENDER_API_KEY rnd_{a28}
alibaba ALIBABA_ACCESS_KEY_ID LTAI5t{a18}
tencent TENCENTCLOUD_SECRET_ID AKID{a32}
yandex YANDEX_API_KEY AQVN{w36}
supabase SUPABASE_ACCESS_TOKEN sbp_{h40}
supabase-secret SUPABASE_SECRET_KEY sb_secret_{w22}_{w8}
databricks DATABRICKS_TOKEN dapi{h32}
planetscale PLANETSCALE_SERVICE_TOKEN pscale_tkn_{w43}
planetscale-password DATABASE_PASSWORD pscale_pw_{w43}
neon NEON_API_KEY napi_{l64}
github GITHUB_TOKEN ghp_{a36}
github-oauth GITHUB_TOKEN gho_{a36}
github-user-to-server GH_TOKEN ghu_{a36}
github-server-to-server GH_TOKEN ghs_{a36}
github-refresh GH_REFRESH_TOKEN ghr_{a76}
github-fine-grained GITHUB_TOKEN github_pat_{a22}_{a59}
gitlab GITLAB_TOKEN glpat-{w20}
gitlab-trigger TRIGGER_TOKEN glptt-{h40}
gitlab-deploy CI_DEPLOY_PASSWORD gldt-{w20}
gitlab-runner RUNNER_TOKEN glrt-{w20}
gitlab-job CI_JOB_TOKEN glcbt-{h2}_{w20}
bitbucket-app-password BITBUCKET_APP_PASSWORD ATBB{a24}{H8}
atlassian ATLASSIAN_API_TOKEN ATATT3xFfGF0{w171}={H8}
npm NPM_TOKEN npm_{a36}
pypi TWINE_PASSWORD pypi-AgEIcHlwaS5vcmc{w150}
rubygems GEM_HOST_API_KEY rubygems_{h48}
nuget NUGET_API_KEY oy2{i43}
crates-io CARGO_REGISTRY_TOKEN cio{a32}
docker-hub DOCKERHUB_TOKEN dckr_pat_{w27}
artifactory ARTIFACTORY_API_KEY AKCp8{a68}
clojars CLOJARS_PASSWORD CLOJARS_{h60}
packagist PACKAGIST_TOKEN packagist_uut_{h60}{h8}
slack-bot SLACK_BOT_TOKEN xoxb-{~n1}{~d11}-{~n1}{~d12}-{a24}
slack-user SLACK_USER_TOKEN xoxp-{~n1}{~d11}-{~n1}{~d11}-{~n1}{~d12}-{h32}
slack-app SLACK_APP_TOKEN xapp-1-A{~U10}-{~n1}{~d12}-{h64}
slack-webhook SLACK_WEBHOOK_URL https://hooks.slack.com/services/T{~U10}/B{~U10}/{a24}
discord-bot DISCORD_TOKEN MT{~a22}.{~w6}.{w38}
discord-webhook DISCORD_WEBHOOK https://discord.com/api/webhooks/{~n1}{~d18}/{w68}
telegram TELEGRAM_BOT_TOKEN {~n1}{~d9}:AA{w33}
teams-webhook TEAMS_WEBHOOK https://contoso.webhook.office.com/webhookb2/{~uuid}@{~uuid}/IncomingWebhook/{h32}/{uuid}
stripe STRIPE_SECRET_KEY sk_live_51{a97}
stripe-short STRIPE_SECRET_KEY sk_live_{a24}
stripe-test STRIPE_SECRET_KEY sk_test_51{a97}
stripe-restricted STRIPE_API_KEY rk_live_51{a97}
stripe-webhook STRIPE_WEBHOOK_SECRET whsec_{a32}
square SQUARE_ACCESS_TOKEN EAAA{w60}
square-secret SQUARE_APPLICATION_SECRET sq0csp-{w43}
shopify SHOPIFY_ACCESS_TOKEN shpat_{h32}
shopify-secret SHOPIFY_API_SECRET shpss_{h32}
braintree BRAINTREE_ACCESS_TOKEN access_token$production${l16}${h32}
plaid PLAID_ACCESS_TOKEN access-production-{uuid}
sendgrid SENDGRID_API_KEY SG.{w22}.{w43}
mailgun MAILGUN_API_KEY key-{h32}
mailchimp MAILCHIMP_API_KEY {h32}-us{n1}
brevo BREVO_API_KEY xkeysib-{h64}-{a16}
resend RESEND_API_KEY re_{a8}_{a24}
twilio-key TWILIO_API_KEY SK{h32}
newrelic NEW_RELIC_API_KEY NRAK-{U27}
newrelic-license NEW_RELIC_LICENSE_KEY {h36}NRAL
sentry-user SENTRY_AUTH_TOKEN sntryu_{h64}
sentry-org SENTRY_AUTH_TOKEN sntrys_eyJpYXQiOjE3{b100}_{b43}
grafana-service-account GRAFANA_TOKEN glsa_{a32}_{h8}
grafana-cloud GRAFANA_CLOUD_TOKEN glc_eyJvIjoi{b100}==
dynatrace DT_API_TOKEN dt0c01.{~A24}.{A64}
posthog POSTHOG_PERSONAL_API_KEY phx_{a43}
sonarqube SONAR_TOKEN squ_{h40}
honeycomb HONEYCOMB_API_KEY hcaik_01{l56}
notion NOTION_TOKEN ntn_{d11}{a35}
linear LINEAR_API_KEY lin_api_{a40}
figma FIGMA_TOKEN figd_{w40}
airtable AIRTABLE_TOKEN pat{a14}.{h64}
asana ASANA_TOKEN 2/{~n1}{~d15}/{~n1}{~d15}:{h32}
doppler DOPPLER_TOKEN dp.st.prd.{a43}
vault VAULT_TOKEN hvs.{w92}
terraform-cloud TFE_TOKEN {a14}.atlasv1.{w67}
pulumi PULUMI_ACCESS_TOKEN pul-{h40}
onepassword-service OP_SERVICE_ACCOUNT_TOKEN ops_eyJ{a250}
mapbox MAPBOX_SECRET_TOKEN sk.eyJ1Ijoi{a60}.{w22}
launchdarkly LD_SDK_KEY sdk-{uuid}
postman POSTMAN_API_KEY PMAK-{h24}-{h34}
age AGE_SECRET_KEY AGE-SECRET-KEY-1{x58}
tailscale TS_AUTHKEY tskey-auth-k{a11}CNTRL-{a32}
buildkite BUILDKITE_API_TOKEN bkua_{h40}
circleci CIRCLECI_TOKEN CCIPAT_{a22}_{h40}
hubspot HUBSPOT_TOKEN pat-na1-{uuid}
azure-storage-connection AZURE_STORAGE_CONNECTION_STRING DefaultEndpointsProtocol=https;AccountName={~word}store;AccountKey={b86}==;EndpointSuffix=core.windows.net
azure-service-bus SERVICEBUS_CONNECTION Endpoint=sb://{~word}.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey={b43}=
postgres-url DATABASE_URL postgresql://app:{a18-24}@db.{~word}.internal:5432/{~word}
mysql-url DATABASE_URL mysql://root:{a12-20}@10.0.3.7:3306/{~word}
mongodb-url MONGODB_URI mongodb+srv://{~word}:{a16}@cluster0.{~l5}.mongodb.net/{~word}
redis-url REDIS_URL redis://default:{a32}@redis-{~d5}.c1.us-east-1.ec2.cloud.redislabs.com:{~d5}
amqp-url AMQP_URL amqps://{~word}:{w32}@{~word}.rmq.cloudamqp.com/{~word}
smtp-url SMTP_URL smtps://mailer:{a16}@smtp.{~word}.io:465
azure-sas BLOB_URL https://{~word}.blob.core.windows.net/backups/{~word}.tar.gz?sv=2022-11-02&sr=b&sp=r&sig={a43}%3D
git-url REPOSITORY_URL https://{~word}-bot:{a24}@git.{~word}.io/platform/{~word}.git
"""  # noqa: E501 - a row is a line
_TOLD = """
aws-secret-key AWS_SECRET_ACCESS_KEY {b40}
cohere COHERE_API_KEY {a40}
mistral MISTRAL_API_KEY {a32}
together TOGETHER_API_KEY {h64}
azure-openai AZURE_OPENAI_API_KEY {h32}
wandb WANDB_API_KEY {h40}
deepgram DEEPGRAM_API_KEY {h40}
cloudflare CLOUDFLARE_API_TOKEN {w40}
hetzner HCLOUD_TOKEN {a64}
linode LINODE_TOKEN {h64}
scaleway SCW_SECRET_KEY {uuid}
vercel VERCEL_TOKEN {a24}
ibm-cloud IBMCLOUD_API_KEY {w44}
azure-storage AZURE_STORAGE_KEY {b86}==
alibaba-secret ALIBABA_ACCESS_KEY_SECRET {a30}
gitea GITEA_TOKEN {h40}
jenkins JENKINS_API_TOKEN 11{h32}
twilio TWILIO_AUTH_TOKEN {h32}
postmark POSTMARK_SERVER_TOKEN {uuid}
datadog-api DD_API_KEY {h32}
datadog-app DD_APP_KEY {h40}
pagerduty PAGERDUTY_TOKEN {w20}
algolia-admin ALGOLIA_ADMIN_KEY {h32}
okta OKTA_API_TOKEN 00{w40}
auth0 AUTH0_CLIENT_SECRET {w64}
razorpay RAZORPAY_KEY_SECRET {a24}
paypal PAYPAL_CLIENT_SECRET E{w79}
django SECRET_KEY {D50}
flask FLASK_SECRET_KEY {h64}
rails-secret-key-base SECRET_KEY_BASE {h128}
rails-master-key RAILS_MASTER_KEY {h32}
laravel APP_KEY base64:{b43}=
fernet FERNET_KEY {w43}=
ethereum DEPLOYER_PRIVATE_KEY 0x{h64}
wordpress-salt AUTH_SALT {W64}
jwt-signing-key JWT_SECRET {a48}
session-secret SESSION_SECRET {b44}
webhook-secret WEBHOOK_SECRET {h40}
oauth-client-secret OAUTH_CLIENT_SECRET {a40}
service-token SERVICE_TOKEN {w43}
encryption-key ENCRYPTION_KEY {b43}=
bearer-opaque ACCESS_TOKEN {w64}
refresh-opaque REFRESH_TOKEN {a50}
password-human DB_PASSWORD {password}
password-admin ADMIN_PASSWORD {password}
password-short MYSQL_ROOT_PASSWORD {a10-12}
password-generated POSTGRES_PASSWORD {P20-32}
password-manager SMTP_PASSWORD {P16}
password-hex REDIS_PASSWORD {h32}
passphrase SSH_PASSPHRASE {word}-{word}-{word}-{d3}
ldap-password LDAP_BIND_PASSWORD {a14}
snowflake-password SNOWFLAKE_PASSWORD {Word}{a8}!{d2}
proxy-password PROXY_PASSWORD {a12}
rabbitmq-password RABBITMQ_DEFAULT_PASS {w24}
vnc-password VNC_PW {Word}{d4}
"""
_BASIC = """
basic-credentials Authorization {basic}
basic-token Authorization OnRva2Vu{b26}==
basic-opaque Authorization {b47}=
"""
_COOKIES = """
cookie-django sessionid {l32}
cookie-php PHPSESSID {l26}
cookie-java JSESSIONID {H32}
cookie-express connect.sid s%3A{w32}.{a43}
cookie-session session {w60}.{w6}.{w27}
cookie-auth auth_token {h40}
cookie-github user_session {w48}
"""
_TABLES = ((_SHAPES, SHAPE), (_TOLD, TOLD), (_BASIC, BASIC), (_COOKIES, COOKIE))
