"""Names and references of secrets, of which somebody else has the value."""

from __future__ import annotations

ROWS = {
    "arn-secret": ("file task.json", '"secretArn": "arn:aws:secretsmanager:eu-west-1:{d12}:secret:prod/{word}-{a6}"'),
    "arn-parameter": ("file task.yaml", "  DB_PASSWORD: arn:aws:ssm:us-east-1:{d12}:parameter/{word}/db_password"),
    "vault-path": ("file values.yaml", "  password: vault:secret/data/{word}/prod#db_password"),
    "vault-annotation": (
        "file pod.yaml",
        '  vault.hashicorp.com/agent-inject-secret-{word}: "secret/data/{word}/token"',
    ),
    "onepassword-reference": ("file .env.tpl", "STRIPE_SECRET_KEY=op://Production/{Word}/credential"),
    "sops-reference": ("file secrets.yml", "api_token: ref+sops://secrets/{word}.yaml#/api_token"),
    "gcp-secret-name": ("shell", "gcloud secrets versions access latest --secret={word}-api-key"),
    "gcp-secret-resource": ("file app.py", 'name = "projects/{word}-prod/secrets/{word}-api-token/versions/latest"'),
    "key-vault-reference": (
        "file appsettings.json",
        '"ApiKey": "@Microsoft.KeyVault(SecretUri=https://{word}-kv.vault.azure.net/secrets/{Word}ApiKey/)"',
    ),
    "shell-variable": ("shell", 'curl -H "Authorization: Bearer ${OPENAI_API_KEY}" https://api.openai.com/v1/models'),
    "shell-variable-bare": ("shell", "docker login -u $REGISTRY_USER -p $REGISTRY_PASSWORD registry.{word}.io"),
    "shell-default": (
        "file entrypoint.sh",
        'export DB_PASSWORD="${DB_PASSWORD:-}"\nexport API_TOKEN=${API_TOKEN:?must be set}',
    ),
    "shell-command": ("shell", "export GITHUB_TOKEN=$(gh auth token) && git push origin {word}"),
    "shell-file": ("shell", "export ANTHROPIC_API_KEY=$(cat ~/.config/{word}/api_key)"),
    "shell-backticks": ("shell", "TOKEN=`vault kv get -field=token secret/{word}` ./deploy.sh"),
    "powershell-variable": ("shell", '$headers = @{ Authorization = "Bearer $env:GH_TOKEN" }'),
    "cmd-variable": ("shell", "curl -u deploy:%ARTIFACTORY_PASSWORD% https://{word}.io/artifactory"),
    "python-environ": (
        "file settings.py",
        'SECRET_KEY = os.environ["DJANGO_SECRET_KEY"]\nDB_PASSWORD = os.environ.get("DB_PASSWORD")',
    ),
    "python-getenv": ("file llm.py", 'client = OpenAI(api_key=os.getenv("OPENAI_API_KEY"))'),
    "python-settings": ("file db.py", "engine = create_engine(url, password=settings.database_password)"),
    "python-fstring": ("file http.py", 'headers["Authorization"] = f"Bearer {self._access_token}"'),
    "javascript-environ": (
        "file api.ts",
        "const apiKey = process.env.STRIPE_SECRET_KEY!;\nconst token = process.env['GH_TOKEN'];",
    ),
    "javascript-template": ("file fetch.js", "headers: { Authorization: `Bearer ${session.accessToken}` },"),
    "vite-environ": ("file main.ts", "const supabaseKey = import.meta.env.VITE_SUPABASE_ANON_KEY"),
    "ruby-environ": ("file secrets.rb", 'config.secret_key_base = ENV.fetch("SECRET_KEY_BASE")'),
    "go-environ": (
        "file main.go",
        'token := os.Getenv("GITLAB_TOKEN")\nif token == "" {\n\tlog.Fatal("GITLAB_TOKEN is not set")\n}',
    ),
    "rust-environ": (
        "file main.rs",
        'let api_key = std::env::var("ANTHROPIC_API_KEY").expect("ANTHROPIC_API_KEY is not set");',
    ),
    "java-value": ("file Mail.java", '@Value("${spring.mail.password}")\nprivate String mailPassword;'),
    "php-getenv": ("file config.php", "'password' => env('DB_PASSWORD', ''),\n'secret' => getenv('APP_SECRET'),"),
    "csharp-configuration": ("file Program.cs", 'var apiKey = builder.Configuration["OpenAI:ApiKey"];'),
    "github-actions-secret": (
        "file .github/workflows/release.yml",
        "        env:\n          NPM_TOKEN: ${{ secrets.NPM_TOKEN }}",
    ),
    "github-actions-token": (
        "file .github/workflows/ci.yml",
        "          token: ${{ github.token }}\n          password: ${{ secrets.PYPI_API_TOKEN }}",
    ),
    "gitlab-variable": (
        "file .gitlab-ci.yml",
        '    - docker login -u "$CI_REGISTRY_USER" -p "$CI_REGISTRY_PASSWORD" $CI_REGISTRY',
    ),
    "kubernetes-secret-ref": (
        "file deploy.yaml",
        (
            "        - name: DB_PASSWORD\n          valueFrom:\n            secretKeyRef:\n"
            "              name: {word}-credentials\n              key: password"
        ),
    ),
    "kubernetes-secret-name": (
        "file ingress.yaml",
        "  tls:\n  - hosts: [{word}.io]\n    secretName: {word}-tls-secret",
    ),
    "image-pull-secret": ("file pod.yml", "  imagePullSecrets:\n  - name: {word}-registry-token"),
    "external-secret": (
        "file es.yaml",
        "  data:\n  - secretKey: api-token\n    remoteRef:\n      key: prod/{word}/api-token",
    ),
    "terraform-variable": (
        "file main.tf",
        '  password = var.db_password\n  token    = data.vault_generic_secret.{word}.data["token"]',
    ),
    "terraform-random": ("file rds.tf", "  master_password = random_password.{word}.result"),
    "terraform-declaration": ("file vars.tf", 'variable "api_token" {\n  type      = string\n  sensitive = true\n}'),
    "jinja-variable": ("file roles/{word}.yml", '    login_password: "{{ vault_{word}_password }}"'),
    "helm-template": ("file templates/secret.yaml", "  password: {{ .Values.auth.password | b64enc | quote }}"),
    "jenkins-credentials": (
        "file Jenkinsfile",
        "withCredentials([string(credentialsId: '{word}-api-token', variable: 'API_TOKEN')]) {",
    ),
    "docker-secret-file": ("file compose.yml", "      POSTGRES_PASSWORD_FILE: /run/secrets/{word}_password"),
    "circle-context": (
        "file config.yml",
        "          api_key: << pipeline.parameters.api-key >>\n          context: {word}-secrets",
    ),
    "cloudformation-resolve": (
        "file stack.yml",
        "      MasterUserPassword: '{{resolve:secretsmanager:{Word}Secret:SecretString:password}}'",
    ),
    "cloudformation-ref": ("file template.json", '"MasterUserPassword": {"Ref": "{Word}DatabasePassword"}'),
    "url-with-variables": (
        "file .env.example",
        "DATABASE_URL=postgres://${DB_USER}:${DB_PASSWORD}@localhost:5432/{word}",
    ),
}
