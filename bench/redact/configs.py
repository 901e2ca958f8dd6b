"""Contexts in files: settings, manifests and source code."""

from __future__ import annotations

NAMED = {
    "dotenv": ("file .env", "NODE_ENV=production\nPORT={port}\n<<NAME>>=<<value>>\nLOG_LEVEL=info"),
    "dotenv-quoted": ("file .env.local", 'APP_URL=https://{word}.io\n<<NAME>>="<<value>>"\nAPP_DEBUG=false'),
    "dotenv-comment": ("file .env.staging", "# rotated on 2024-0{n1}-1{n1}\n<<NAME>>='<<value>>' # do not commit"),
    "yaml": ("file config/settings.yaml", "service:\n  name: {word}\n  <<name>>: <<value>>\n  timeout: 30"),
    "yaml-quoted": (
        "file values.yaml",
        'replicas: {n1}\nsecrets:\n  <<camel>>: "<<value>>"\nimage:\n  tag: 1.{n1}.{n1}',
    ),
    "yaml-deep": (
        "file config/app.yml",
        (
            "production:\n  adapters:\n    - name: {word}\n      auth:\n        credentials:\n"
            "          <<name>>: '<<value>>'\n"
        ),
    ),
    "toml": ("file config.toml", '[{word}]\nurl = "https://api.{word}.dev"\n<<name>> = "<<value>>"\nretries = {n1}'),
    "ini": ("file settings.ini", "[{word}]\nhost = {word}.internal\n<<name>> = <<value>>\nport = {port}"),
    "properties": (
        "file application.properties",
        "server.port={port}\n{word}.<<dots>>=<<value>>\nspring.main.banner-mode=off",
    ),
    "spring-yaml": ("file application.yml", "spring:\n  datasource:\n    username: {word}\n    <<kebab>>: <<value>>"),
    "json": ("file config.json", '{\n  "region": "eu-west-1",\n  "<<camel>>": "<<value>>",\n  "verbose": false\n}'),
    "json-deep": (
        "file appsettings.json",
        (
            '{\n  "Logging": {"LogLevel": {"Default": "Warning"}},\n  "{Word}": {\n    "Endpoint": "https://{word}.net",\n'
            '    "Auth": {"<<Pascal>>": "<<value>>"}\n  }\n}'
        ),
    ),
    "json-minified": (
        "file state.json",
        '{"v":4,"env":{"PATH":"/usr/bin","<<NAME>>":"<<value>>","LANG":"C"},"n":{d3}}',
    ),
    "xml-element": ("file settings.xml", "<server>\n  <id>{word}</id>\n  <<<camel>>><<xml>></<<camel>>>\n</server>"),
    "xml-attribute": ("file web.config", '<appSettings>\n  <add key="<<Pascal>>" value="<<xml>>" />\n</appSettings>'),
    "plist": ("file Info.plist", "<dict>\n\t<key><<Pascal>></key>\n\t<string><<xml>></string>\n</dict>"),
    "php-define": ("file wp-config.php", "<?php\ndefine( 'DB_NAME', '{word}' );\ndefine( '<<NAME>>', '<<value>>' );\n"),
    "php-array": (
        "file config/services.php",
        "return [\n    '{word}' => [\n        '<<name>>' => '<<value>>',\n    ],\n];",
    ),
    "python-assignment": (
        "file settings.py",
        'import os\n\nDEBUG = False\n<<NAME>> = "<<value>>"\nALLOWED_HOSTS = ["*"]',
    ),
    "python-keyword": (
        "file client.py",
        'client = Client(\n    base_url="https://{word}.ai",\n    <<name>>="<<value>>",\n)',
    ),
    "python-dict": (
        "file conf.py",
        "CONFIG = {\n    'host': '{word}',\n    '<<name>>': '<<value>>',\n    'pool': {n1},\n}",
    ),
    "python-environ": ("file run.py", 'import os\nos.environ["<<NAME>>"] = "<<value>>"\nmain()'),
    "python-default": (
        "file env.py",
        '<<name>> = os.getenv("<<NAME>>", "<<value>>")\nlog = logging.getLogger(__name__)',
    ),
    "javascript-const": ("file src/config.js", "const <<camel>> = '<<value>>';\nmodule.exports = { retries: {n1} };"),
    "javascript-object": (
        "file src/api.ts",
        'export const {word} = {\n  url: "/v1/{word}",\n  <<camel>>: "<<value>>",\n};',
    ),
    "javascript-fallback": ("file src/index.ts", "const token = process.env.<<NAME>> || '<<value>>';\nstart(token);"),
    "go": ("file main.go", 'package main\n\nconst <<camel>> = "<<value>>"\n\nfunc main() { serve(":{port}") }'),
    "java": ("file Config.java", 'public class Config {\n    private static final String <<NAME>> = "<<value>>";\n}'),
    "csharp": ("file Startup.cs", 'var {word} = new Options {\n    <<Pascal>> = "<<value>>",\n    Retries = {n1}\n};'),
    "ruby": (
        "file config/initializers/{word}.rb",
        "{Word}.configure do |config|\n  config.<<name>> = '<<value>>'\nend",
    ),
    "rust": ("file src/main.rs", 'const <<NAME>>: &str = "<<value>>";\n\nfn main() {\n    run({n1});\n}'),
    "kotlin": ("file build.gradle.kts", 'val {word} = "1.{n1}"\nval <<camel>> = "<<value>>"\ndependencies {}'),
    "terraform": ("file terraform.tfvars", 'region = "eu-central-1"\n<<name>> = "<<value>>"\ninstances = {n1}'),
    "terraform-state": (
        "file terraform.tfstate",
        (
            '          "attributes": {\n            "id": "{word}-{d4}",\n            "<<name>>": "<<value>>",\n'
            '            "tags": null'
        ),
    ),
    "compose": (
        "file docker-compose.yml",
        "services:\n  web:\n    environment:\n      - TZ=UTC\n      - <<NAME>>=<<value>>\n    ports:",
    ),
    "compose-map": (
        "file compose.yaml",
        "services:\n  {word}:\n    image: {word}:1.{n1}\n    environment:\n      <<NAME>>: <<value>>",
    ),
    "dockerfile": ("file Dockerfile", 'FROM python:3.12-slim\nENV <<NAME>>=<<value>>\nCOPY . /app\nCMD ["run"]'),
    "kubernetes-env": (
        "file deploy.yaml",
        (
            "        env:\n        - name: LOG_LEVEL\n          value: info\n        - name: <<NAME>>\n"
            '          value: "<<value>>"\n        ports:'
        ),
    ),
    "kubernetes-string-data": (
        "file secret.yaml",
        "kind: Secret\nmetadata:\n  name: {word}\nstringData:\n  <<NAME>>: <<value>>",
    ),
    "github-actions": (
        "file .github/workflows/ci.yml",
        "    steps:\n      - run: make test\n        env:\n          <<NAME>>: <<value>>",
    ),
    "gitlab-ci": (
        "file .gitlab-ci.yml",
        "variables:\n  GIT_DEPTH: {n1}\n  <<NAME>>: '<<value>>'\n\ntest:\n  script: make",
    ),
    "systemd": (
        "file {word}.service",
        '[Service]\nExecStart=/usr/bin/{word} serve\nEnvironment="<<NAME>>=<<value>>"\nRestart=always',
    ),
    "ansible": ("file group_vars/all.yml", '{word}_port: {port}\n{word}_<<name>>: "<<value>>"\n{word}_user: deploy'),
    "mcp-config": (
        "file .mcp.json",
        (
            '{"mcpServers": {"{word}": {"command": "npx", "args": ["-y", "{word}-mcp"], "env": {"<<NAME>>": '
            '"<<value>>"}}}}'
        ),
    ),
    "sql-dump": (
        "file dump.sql",
        (
            "CREATE TABLE settings (name varchar(64), value text);\nINSERT INTO settings (name, value) VALUES "
            "('<<name>>', '<<value>>');\nUNLOCK TABLES;"
        ),
    ),
    "sql-set": (
        "file init.sql",
        "SET search_path = {word};\nUPDATE {word} SET <<name>> = '<<value>>' WHERE id = {d3};",
    ),
    "notebook": (
        "file explore.ipynb",
        '   "source": [\n    "import pandas as pd\\n",\n    "<<NAME>> = \'<<value>>\'\\n",\n    "df = load()"\n   ]',
    ),
    "cloud-init": (
        "file user-data",
        "#cloud-config\nruncmd:\n  - export <<NAME>>=<<value>>\n  - systemctl start {word}",
    ),
    "nix": ("file flake.nix", '  services.{word} = {\n    enable = true;\n    <<camel>> = "<<value>>";\n  };'),
}
TOKENS = {
    "npmrc": ("file .npmrc", "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=<<value>>"),
    "kubeconfig": ("file .kube/config", "users:\n- name: {word}-admin\n  user:\n    token: <<value>>\ncontexts: []"),
    "git-extraheader": (
        "file .git/config",
        '[http "https://github.com/"]\n\textraheader = AUTHORIZATION: bearer <<value>>',
    ),
    "python-header": ("file fetch.py", 'headers = {"Authorization": "Bearer <<value>>", "Accept": "application/json"}'),
    "javascript-header": (
        "file src/http.ts",
        "  headers: {\n    Authorization: `Bearer <<value>>`,\n    'X-Trace': id,\n  },",
    ),
}
PASSWORDS = {
    "netrc": ("file .netrc", "machine api.{word}.com\n  login deploy\n  password <<value>>"),
    "netrc-line": ("file _netrc", "machine {word}.io login {word} password <<value>>"),
    "pgpass": ("file .pgpass", "db.{word}.internal:5432:{word}:app:<<value>>"),
    "url-userinfo": (
        "file alembic.ini",
        "sqlalchemy.url = postgresql+psycopg2://app:<<url>>@db.{word}.internal:5432/{word}",
    ),
    "url-userinfo-env": ("file .env.production", "REDIS_URL=redis://:<<url>>@cache.{word}.net:6379/0\nWORKERS={n1}"),
    "connection-string": (
        "file appsettings.Production.json",
        (
            '"Default": "Server=tcp:{word}.database.windows.net,1433;Database={word};User '
            'ID=sa;Password=<<json>>;Encrypt=True;"'
        ),
    ),
    "jdbc": ("file hibernate.cfg", "jdbc:mysql://db.{word}.net:3306/{word}?user=root&password=<<url>>&useSSL=true"),
    "my-cnf": ("file .my.cnf", "[client]\nuser = {word}\npassword = '<<value>>'\nhost = 10.0.0.{n1}"),
    "pip-index": ("file pip.conf", "[global]\nextra-index-url = https://ci:<<url>>@pypi.{word}.io/simple"),
    "maven": (
        "file .m2/settings.xml",
        "<server><id>{word}</id><username>ci</username><password><<xml>></password></server>",
    ),
    "kubeconfig-password": (
        "file kubeconfig.yaml",
        '- name: {word}\n  user:\n    username: admin\n    password: "<<value>>"',
    ),
}
BLOCKS = {
    "block-file": ("file {word}.pem", "<<value>>"),
    "block-yaml": (
        "file ssh-secret.yaml",
        "stringData:\n  ssh-privatekey: |\n    <<indented>>\n  known_hosts: github.com",
    ),
    "block-json": (
        "file service-account.json",
        '{"type": "service_account", "private_key": "<<json>>\\n", "client_id": "{d21}"}',
    ),
    "block-env": ("file .env.keys", 'PORT={port}\nPRIVATE_KEY="<<json>>"\nHOST={word}'),
    "block-env-lines": ("file .env.lines", 'JWT_PRIVATE_KEY="<<value>>"\nHOST={word}'),
    "block-python": ("file keys.py", 'PRIVATE_KEY = """<<value>>"""\n\ndef sign(data): ...'),
    "block-terraform": ("file tls.tf", "  private_key = <<EOT\n<<value>>\nEOT\n}"),
    "block-cloud-init": (
        "file cloud.yaml",
        "write_files:\n  - path: /etc/ssl/{word}.key\n    content: |\n    <<indented>>\n",
    ),
    "block-xml": ("file idp.xml", "<PrivateKey>\n<<value>>\n</PrivateKey>"),
    "block-one-line": ("file one.env", 'TLS_KEY="<<line>>"'),
    "block-javascript": ("file certs.js", "module.exports.key = `<<value>>`;"),
}
COOKIES = {
    "cookie-python": ("file scrape.py", 'session.cookies.set("<<NAME>>", "<<value>>", domain="{word}.com")'),
    "cookie-har": ("file session.har", '{"name": "Cookie", "value": "theme=dark; <<NAME>>=<<value>>; tz=UTC"}'),
    "cookie-jar": ("file cookies.txt", ".{word}.com\tTRUE\t/\tTRUE\t17{d8}\t<<NAME>>\t<<value>>"),
}
BASIC = {
    "docker-config": (
        "file .docker/config.json",
        '{\n\t"auths": {\n\t\t"registry.{word}.io": {\n\t\t\t"auth": "<<value>>"\n\t\t}\n\t}\n}',
    ),
    "basic-python": ("file poll.py", 'requests.get(url, headers={"Authorization": "Basic <<value>>"}, timeout=10)'),
    "npmrc-auth": ("file project/.npmrc", "//npm.{word}.io/:_auth=<<value>>\nalways-auth=true"),
    "basic-yaml": ("file collector.yaml", "exporters:\n  otlp:\n    headers:\n      Authorization: Basic <<value>>"),
}
CONTEXTS = {"names": NAMED, "token": TOKENS, "password": PASSWORDS, "block": BLOCKS, "cookie": COOKIES, "basic": BASIC}
