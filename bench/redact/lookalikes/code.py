"""Code, logs and prose about secrets, and what else is long and odd."""

from __future__ import annotations

ROWS = {
    "function-call": (
        "file auth.py",
        "token = get_token()\npassword = getpass.getpass()\nsecret = load_secret(path, {word})",
    ),
    "generator": ("file util.py", "api_key = secrets.token_urlsafe(32)\nsalt = os.urandom(16).hex()"),
    "annotation": (
        "file models.py",
        "class Login(BaseModel):\n    username: str\n    password: SecretStr\n    token: str | None = None",
    ),
    "typescript-interface": (
        "file types.ts",
        (
            "interface Session {\n  accessToken: string;\n  refreshToken?: string | undefined;\n"
            "  apiKey: Readonly<ApiKey>;\n}"
        ),
    ),
    "go-struct": (
        "file conf.go",
        (
            'type Config struct {\n\tPassword string `json:"password" yaml:"password,omitempty"`\n'
            '\tAPIKey   string `env:"API_KEY"`\n}'
        ),
    ),
    "java-getter": (
        "file User.java",
        "public void setPassword(String password) { this.password = passwordEncoder.encode(password); }",
    ),
    "max-tokens": ("file chat.py", 'response = client.create(model="gpt-4o", max_tokens=4096, temperature=0.{n1})'),
    "token-counts": ("output", '{"usage": {"prompt_tokens": {d5}, "completion_tokens": {d4}, "total_tokens": {d5}}}'),
    "tokenizer": (
        "file train.py",
        'tokenizer.pad_token = tokenizer.eos_token\ntokenizer.add_special_tokens({"pad_token": "<|padding|>"})',
    ),
    "special-tokens": (
        "file tokenizer_config.json",
        '"bos_token": "<|begin_of_text|>",\n"eos_token": "<|end_of_text|>",\n"unk_token": "<unk>"',
    ),
    "key-regex": ("file scan.py", 'PATTERN = re.compile(r"sk-[A-Za-z0-9]{48}|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{36}")'),
    "password-regex": (
        "file validate.js",
        "const passwordRegex = /^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)[A-Za-z\\d@$!%*?&]{8,}$/;",
    ),
    "comparison": (
        "file login.py",
        "if password != confirm_password:\n    raise ValidationError('passwords do not match')",
    ),
    "dictionary-keys": (
        "file mask.py",
        'SENSITIVE = {"password", "api_key", "access_token", "client_secret", "authorization"}',
    ),
    "constant-names": (
        "file consts.ts",
        'export const ACCESS_TOKEN_KEY = "access_token";\nexport const TOKEN_HEADER = "X-Auth-Token";',
    ),
    "error-codes": ("file errors.py", 'INVALID_PASSWORD = "invalid_password"\nTOKEN_EXPIRED = "token_expired"'),
    "translation-keys": (
        "file en.json",
        '"password": "Password",\n"forgot_password": "Forgot your password?",\n"token": "Access token"',
    ),
    "form-field": (
        "file login.html",
        '<input type="password" name="password" autocomplete="current-password" placeholder="Password">',
    ),
    "label": (
        "file login.jsx",
        '<label htmlFor="apiKey">API key: <PasswordInput value={apiKey} onChange={setApiKey} /></label>',
    ),
    "css-class": (
        "file app.css",
        ".btn-token-primary-disabled__password-field--highlighted { --color-secret: #{h6}; }",
    ),
    "utility-classes": (
        "file card.tsx",
        (
            'className="flex items-center justify-between rounded-lg bg-gray-100 px-4 py-2 hover:bg-gray-200 '
            'sk-loading-spinner"'
        ),
    ),
    "dashed-identifier": (
        "output",
        "sk-loader-animation-container-wrapper-element is not defined\ntask-management-service-production-deployment",
    ),
    "test-names": (
        "output",
        (
            "tests/test_auth.py::test_password_reset_with_expired_token_returns_403 PASSED\n"
            "tests/test_auth.py::test_{word} PASSED"
        ),
    ),
    "log-about-token": (
        "output",
        "INFO token refreshed for user {word}, expires in 3600s\nWARN password attempt {n1} of 5 failed",
    ),
    "ssh-log": (
        "output",
        "Failed password for invalid user {word} from 10.0.{n1}.{n1} port {d5} ssh2\nAccepted publickey for deploy",
    ),
    "sudo-prompt": ("output", "[sudo] password for {word}: \nEnter passphrase for key '/etc/ssh/{word}': "),
    "prose-password": (
        "chat",
        "Users say the password reset mail never arrives, and that the token in the link is invalid after a minute.",
    ),
    "prose-secret": (
        "chat",
        "The secret: keep functions short. The key: tests first. And the password policy needs a review by {Word}.",
    ),
    "prose-colon": ("chat", "Token: please rename the class {Word}Token to {Word}Credential everywhere, also in docs."),
    "model-names": (
        "output",
        "claude-3-5-sonnet-20241022\ngpt-4o-mini-2024-07-18\nmeta-llama/Llama-3.3-70B-Instruct-Turbo\nQwen2.5-Coder-32B-Instruct-GPTQ-Int4",
    ),
    "file-paths": (
        "output",
        "/usr/lib/python3/dist-packages/{word}/credentials/token_provider.py\n./node_modules/.pnpm/{word}@4.{n1}.{n1}/node_modules/{word}/dist/esm/index.mjs",
    ),
    "ssh-key-paths": ("shell", "ssh -i ~/.ssh/id_ed25519_{word} -o IdentitiesOnly=yes deploy@10.0.{n1}.{n1}"),
    "key-file-options": (
        "file nginx.conf",
        (
            "ssl_certificate /etc/ssl/certs/{word}.pem;\nssl_certificate_key /etc/ssl/private/{word}.key;\n"
            "auth_basic_user_file /etc/nginx/.htpasswd;"
        ),
    ),
    "package-versions": (
        "output",
        "Successfully installed {word}-2.{n1}.{n1} python-jose-3.3.0 passlib-1.7.4 keyring-24.{n1}.0 oauthlib-3.2.2",
    ),
    "timestamps": ("output", "2024-0{n1}-1{n1}T10:2{n1}:33.{d6}Z 17{d11} 17{d8}.{d6}"),
    "numbers": ("output", "{d16} {d8}.{d10} 0x{h8} 0b1011010111 1.{d8}e-0{n1} {d5},{d3}"),
    "minified": (
        "file {word}.min.js",
        (
            '!function(e,t){"object"==typeof '
            "exports?module.exports=t(e.key,e.token):(e=self).pw=t()}(this,(function(e,t){return "
            "e.password=t||n,o.apiKey=r}));"
        ),
    ),
    "source-map": (
        "file {word}.js.map",
        '"mappings":"AAAA,SAASA,EAAMC,GACb,OAAOA,EAAIC,MAAMC,KAAKC,GAAGC,QAAQ,CAAEC,OAAQ,KAC7C;CACF,MAAMC"',
    ),
    "camel-case": (
        "output",
        "AbstractSingletonProxyFactoryBeanPasswordCredentialTokenProviderImplementation\ncom.{word}.security.OAuth2AccessTokenResponseHttpMessageConverter",
    ),
    "hex-dump": ("output", "00000010: {h4} {h4} {h4} {h4} {h4} {h4} {h4} {h4}  ................"),
    "assembly": ("output", "  40{h4}:\t48 8d 3d {h2} {h2} {h2} {h2} \tlea    0x{h4}(%rip),%rdi"),
    "sql-columns": (
        "output",
        (
            "CREATE TABLE users (\n  id serial PRIMARY KEY,\n  password varchar(255) NOT NULL,\n"
            "  api_token text UNIQUE\n);"
        ),
    ),
    "sql-query": (
        "file q.sql",
        "SELECT id, token, password_hash FROM sessions WHERE token = $1 AND secret IS NOT NULL;",
    ),
    "sql-parameters": (
        "file db.py",
        'cur.execute("UPDATE users SET password = %s WHERE api_key = :api_key", (hashed, key))',
    ),
    "help-text": (
        "output",
        (
            "  --password PASSWORD   the password to log in with\n"
            "  --token TOKEN         API token (env: {WORD}_TOKEN)\n  --secret-name NAME    name of the secret"
        ),
    ),
    "env-names": (
        "output",
        "missing variables: OPENAI_API_KEY, ANTHROPIC_API_KEY, AWS_SECRET_ACCESS_KEY, {WORD}_WEBHOOK_SECRET",
    ),
    "json-schema": (
        "file schema.json",
        (
            '"password": {"type": "string", "minLength": 8, "format": "password"},\n'
            '"token": {"$ref": "#/definitions/Token"}'
        ),
    ),
    "openapi": (
        "file openapi.yaml",
        (
            "securitySchemes:\n  ApiKeyAuth:\n    type: apiKey\n    in: header\n    name: X-API-Key\n  bearerAuth:\n"
            "    scheme: bearer\n    bearerFormat: JWT"
        ),
    ),
    "http-header-names": (
        "output",
        (
            "Access-Control-Allow-Headers: Authorization, X-CSRF-Token, X-Api-Key, Content-Type\n"
            'WWW-Authenticate: Basic realm="{Word} Registry"'
        ),
    ),
    "policy-settings": (
        "file policy.yml",
        "password_min_length: 12\npassword_max_age_days: 90\ntoken_ttl: 3600s\nsecret_rotation: true",
    ),
    "token-url": (
        "file oauth.py",
        'token_url = "https://{word}.com/oauth2/v2.0/token"\nauthorization_url="https://{word}.com/authorize"',
    ),
    "scopes": ("file scopes.py", 'scope = "openid profile email offline_access api://{word}/user_impersonation"'),
    "id-token-type": ("file exchange.py", '"subject_token_type": "urn:ietf:params:oauth:token-type:access_token"'),
    "assertion": (
        "file test_token.py",
        'assert token.startswith("sk-")\nassert response.json()["token_type"] == "bearer"',
    ),
    "diff-code": (
        "output",
        (
            "-    token = request.headers['Authorization']\n"
            "+    token = request.headers.get('Authorization', '').removeprefix('Bearer ')"
        ),
    ),
    "commit-message": (
        "shell",
        'git commit -m "Rotate API keys: move the {word} password and token to the secret store"',
    ),
    "branch-name": ("shell", "git checkout -b feature/{WORD}-{d4}-rotate-api-key-and-client-secret"),
    "sentence-key": (
        "chat",
        "My key question: is `api_key` the same as `access_token` for {word}? The docs say secret key = api key.",
    ),
}
