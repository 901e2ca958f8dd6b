"""Documented examples, placeholders and masks."""

from __future__ import annotations

ROWS = {
    "aws-example-id": ("output", "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\nregion = us-east-1"),
    "aws-example-secret": ("file README.md", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    "openai-crosses": ("file .env.example", "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    "anthropic-dots": ("chat", "Set ANTHROPIC_API_KEY=sk-ant-... in your shell before you start {word}."),
    "github-crosses": ("file README.md", "export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    "slack-crosses": ("file docs/slack.md", "SLACK_BOT_TOKEN=xoxb-your-token-here"),
    "slack-webhook-example": (
        "file docs/hooks.md",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    ),
    "your-api-key": ("file .env.sample", "STRIPE_API_KEY=your-api-key-here\nMAIL_PASSWORD=your_password"),
    "your-token-brackets": ("file docs/api.md", "Authorization: Bearer <your-access-token>"),
    "upper-placeholder": ("file docs/setup.md", "curl -H 'X-Api-Key: YOUR_API_KEY' https://api.{word}.com/v1"),
    "insert-placeholder": ("file config.sample.yml", "  api_token: INSERT_TOKEN_HERE\n  secret: REPLACE_ME"),
    "changeme": ("file values.yaml", "  adminPassword: changeme\n  replicaCount: {n1}"),
    "change-this": ("file .env.dist", "APP_SECRET=ChangeThisToSomethingSecret\nAPP_ENV=dev"),
    "password-password": (
        "file docker-compose.test.yml",
        "      POSTGRES_PASSWORD: postgres\n      POSTGRES_USER: postgres",
    ),
    "local-url": ("file .env.test", "DATABASE_URL=postgres://postgres:postgres@localhost:5432/{word}_test"),
    "user-pass-url": ("file docs/db.md", "mysql://user:password@host:3306/database"),
    "none-value": ("output", "token: null\npassword: None\napi_key: false\nsecret: undefined"),
    "empty-value": ("file .env.blank", "API_KEY=\nDB_PASSWORD=\"\"\nTOKEN=''"),
    "masked-stars": ("output", "DB_PASSWORD=****************\nAPI_TOKEN: ********"),
    "masked-tail": ("output", "Token: ghp_************************************\nkey ending in ...{a4}"),
    "masked-middle": ("output", "Incorrect API key provided: sk-pr***************************************Xy4A."),
    "masked-bullets": ("output", "password: ••••••••••••"),
    "redacted-brackets": ("output", "Authorization: [REDACTED]\nCookie: [FILTERED]"),
    "redacted-angle": ("output", "api_key=<redacted> secret=<hidden> token=<masked>"),
    "redacted-sensitive": ("output", "  + password = (sensitive value)\n  + token    = (known after apply)"),
    "github-masked": ("output", "  env:\n    NPM_TOKEN: ***\n    NODE_AUTH_TOKEN: ***"),
    "sequence": ("file docs/example.md", "api_key = 'abcdefghijklmnopqrstuvwxyz123456'"),
    "zeros": ("file tests/fake.py", 'TOKEN = "00000000000000000000000000000000"'),
    "ones-uuid": ("file docs/ids.md", "client_secret: 00000000-0000-0000-0000-000000000000"),
    "dummy-words": ("file tests/conftest.py", 'monkeypatch.setenv("OPENAI_API_KEY", "dummy-key-for-tests")'),
    "fake-test-key": ("file tests/test_api.py", 'client = Client(api_key="test-api-key", token="fake-token")'),
    "example-in-docs": ("file docs/auth.md", "GITLAB_TOKEN=glpat-XXXXXXXXXXXXXXXXXXXX"),
    "ellipsis-value": ("chat", 'I have `api_key: "..."` in the {word} config, what goes there?'),
    "jwt-parts": (
        "file docs/jwt.md",
        "A token looks like header.payload.signature, as in eyJhbGciOi...<payload>...<signature>",
    ),
}
