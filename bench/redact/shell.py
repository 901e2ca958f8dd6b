"""Contexts in commands and in what they print."""

from __future__ import annotations

NAMED = {
    "export": ("shell", "cd ~/{word} && export <<NAME>>=<<value>> && make deploy"),
    "export-quoted": ("shell", 'export <<NAME>>="<<value>>"\n./scripts/{word}.sh --verbose'),
    "inline-variable": ("shell", "<<NAME>>=<<value>> python -m {word}.cli sync --limit {d2}"),
    "docker-run": ("shell", "docker run --rm -p {port}:80 -e <<NAME>>=<<value>> {word}/{word}:latest"),
    "helm-set": ("shell", "helm upgrade {word} ./chart --set config.<<camel>>=<<value>> --wait"),
    "flag": ("shell", "{word}-cli login --<<kebab>> <<value>> --region eu-west-1"),
    "flag-equals": ("shell", "./bin/{word} --<<kebab>>=<<value>> --dry-run"),
    "flag-quoted": ("shell", "{word} deploy --<<kebab>> '<<value>>' --env prod"),
    "kubectl-literal": ("shell", "kubectl create secret generic {word} --from-literal=<<NAME>>='<<value>>' -n {word}"),
    "gh-secret": ("shell", "fly secrets set <<NAME>>=<<value>> -a {word}-{word}"),
    "heredoc": ("shell", "cat > .env <<'EOF'\nHOST={word}\n<<NAME>>=<<value>>\nEOF\nchmod 600 .env"),
    "powershell": ("shell", '$env:<<NAME>> = "<<value>>"\nInvoke-RestMethod -Uri https://{word}.com/v1'),
    "cmd-set": ("shell", "set <<NAME>>=<<value>>\r\npython manage.py migrate"),
    "fish": ("shell", "set -gx <<NAME>> '<<value>>'"),
    "sed": ("shell", "sed -i 's/^<<NAME>>=.*/<<NAME>>=<<value>>/' .env"),
    "curl-header": ("shell", "curl -s https://api.{word}.com/v2/{word} -H '<<Header>>: <<value>>' | jq ."),
    "curl-json": ("shell", 'curl -X POST https://{word}.io/login -d \'{"user": "{word}", "<<name>>": "<<value>>"}\''),
    "curl-form": ("shell", "curl https://{word}.io/oauth/token -d grant_type=client_credentials -d <<name>>=<<url>>"),
    "printenv": ("output", "SHELL=/bin/bash\nPWD=/app\n<<NAME>>=<<value>>\nHOSTNAME={h12}\nTERM=xterm"),
    "xtrace": ("output", "+ set -e\n+ export <<NAME>>=<<value>>\n+ make build"),
    "docker-inspect": (
        "output",
        (
            '            "Env": [\n                "<<NAME>>=<<value>>",\n                "PATH=/usr/local/bin"\n'
            "            ],"
        ),
    ),
    "git-diff-added": (
        "output",
        (
            "diff --git a/.env b/.env\nindex {h7}..{h7} 100644\n--- a/.env\n+++ b/.env\n@@ -1,3 +1,4 @@\n"
            " HOST={word}\n+<<NAME>>=<<value>>\n DEBUG=0"
        ),
    ),
    "git-diff-removed": (
        "output",
        (
            '@@ -12,7 +12,7 @@ def connect():\n     retries = {n1}\n-    <<name>> = "<<value>>"\n'
            "+    <<name>> = settings.load()"
        ),
    ),
    "grep": ("output", "src/{word}/settings.py:{d2}:<<NAME>> = '<<value>>'\nsrc/{word}/urls.py:{d2}:urlpatterns = ["),
    "numbered-lines": (
        "output",
        '    {d2}\tdef setup():\n    {d2}\t    <<name>> = "<<value>>"\n    {d2}\t    return Session()',
    ),
    "stack-trace": (
        "output",
        (
            'Traceback (most recent call last):\n  File "/app/{word}/client.py", line {d2}, in call\n'
            "    raise ApiError(response)\n{word}.ApiError: 401 for Client(region='eu', <<name>>='<<value>>')"
        ),
    ),
    "log-line": (
        "output",
        "2024-0{n1}-1{n1}T0{n1}:12:4{n1}Z DEBUG {word}.auth loaded <<name>>=<<value>> from environment",
    ),
    "log-json": ("output", '{"level":"debug","ts":17{d8}.{d3},"msg":"config","<<name>>":"<<value>>","pid":{d4}}'),
    "python-repr": ("output", ">>> settings\nSettings(host='{word}', <<name>>='<<value>>', debug=False)"),
    "table": ("output", "| name | value |\n|---|---|\n| {word} | {d3} |\n| <<NAME>> | <<value>> |"),
    "describe": ("output", "  Environment:\n    LOG_LEVEL:  info\n    <<NAME>>:  <<value>>\n  Mounts:  <none>"),
    "access-log": (
        "output",
        (
            '10.2.{d2}.{d2} - - [1{n1}/Mar/2024:10:1{n1}:22 +0000] "GET /v1/{word}?<<name>>=<<url>>&page={n1} '
            'HTTP/1.1" 200 {d4}'
        ),
    ),
    "url-query": ("shell", 'wget -qO- "https://maps.{word}.com/api/geocode?address={word}&<<name>>=<<url>>"'),
    "har-query": ("output", '{"request": {"method": "GET", "url": "https://api.{word}.io/v1/me?<<name>>=<<url>>"}}'),
    "psql": ("output", "     name      | value\n---------------+--------\n <<name>> | <<value>>\n(1 row)"),
    "history": ("output", "  {d3}  ls -la\n  {d3}  export <<NAME>>=<<value>>\n  {d3}  git status"),
}
TOKENS = {
    "curl-bearer": ("shell", "curl -sS -H 'Authorization: Bearer <<value>>' https://api.{word}.com/v1/models"),
    "curl-bearer-quotes": (
        "shell",
        'curl -H "Accept: application/json" -H "Authorization: Bearer <<value>>" $URL/{word}',
    ),
    "curl-x-api-key": ("shell", "curl https://api.{word}.com/v1/messages -H 'x-api-key: <<value>>' -d @body.json"),
    "curl-verbose": (
        "output",
        "> GET /user HTTP/2\n> Host: api.{word}.com\n> authorization: token <<value>>\n> accept: */*\n\n< HTTP/2 200",
    ),
    "http-request": (
        "output",
        "POST /v1/{word} HTTP/1.1\r\nHost: {word}.io\r\nAuthorization: Bearer <<value>>\r\nContent-Length: {d3}",
    ),
    "kubectl-token": ("shell", "kubectl --server=https://10.1.0.{n1}:6443 --token=<<value>> get pods -A"),
    "git-clone": ("shell", "git clone https://oauth2:<<url>>@git.{word}.com/{word}/{word}.git"),
    "login-stdin": ("shell", "echo <<value>> | docker login ghcr.io -u {word} --password-stdin"),
    "oauth-response": ("output", '{"access_token":"<<value>>","token_type":"Bearer","expires_in":3600,"scope":"read"}'),
}
PASSWORDS = {
    "mysql-flag": ("shell", "mysql -h db.{word}.net -u root -p'<<value>>' {word} < dump.sql"),
    "curl-user": ("shell", "curl -u 'admin:<<value>>' https://{word}.internal/api/json"),
    "sshpass": ("shell", "sshpass -p '<<value>>' ssh deploy@10.0.4.{n1} uptime"),
    "pgpassword": ("shell", "PGPASSWORD='<<value>>' psql -h {word}.db -U app -c 'select 1'"),
    "redis-cli": ("shell", "redis-cli -h cache.{word}.net -a '<<value>>' --no-auth-warning ping"),
    "psql-url": ("shell", 'psql "postgresql://app:<<url>>@10.0.1.{n1}:5432/{word}?sslmode=require" -c "\\dt"'),
    "create-user": (
        "output",
        "CREATE USER {word} WITH ENCRYPTED PASSWORD '<<value>>';\nGRANT ALL ON DATABASE {word} TO {word};",
    ),
    "identified-by": ("output", "mysql> CREATE USER 'app'@'%' IDENTIFIED BY '<<value>>';\nQuery OK, 0 rows affected"),
    "docker-login": ("shell", "docker login registry.{word}.io -u ci --password '<<value>>'"),
    "chpasswd": ("shell", "echo 'deploy:<<value>>' | sudo chpasswd"),
    "url-in-error": (
        "output",
        'psycopg2.OperationalError: could not connect: "postgres://svc:<<url>>@db-{d2}.{word}.net/{word}"',
    ),
}
BLOCKS = {
    "block-heredoc": ("shell", "cat > ~/.ssh/{word} <<'EOF'\n<<value>>\nEOF\nchmod 600 ~/.ssh/{word}"),
    "block-output": ("output", "$ cat /etc/ssl/private/{word}.key\n<<value>>\n$ ls -l"),
    "block-diff": ("output", "--- /dev/null\n+++ b/certs/{word}.pem\n@@ -0,0 +1,28 @@\n+<<plus>>"),
}
COOKIES = {
    "cookie-curl": ("shell", "curl -b '<<NAME>>=<<value>>' https://{word}.com/account"),
    "cookie-header": ("shell", "curl https://{word}.com -H 'Cookie: lang=en; <<NAME>>=<<value>>; seen=1'"),
    "set-cookie": (
        "output",
        "HTTP/1.1 200 OK\r\nSet-Cookie: <<NAME>>=<<value>>; Path=/; HttpOnly; Secure\r\nVary: Accept",
    ),
    "cookie-request": ("output", "> GET /admin HTTP/1.1\n> Host: {word}.com\n> Cookie: <<NAME>>=<<value>>\n>"),
}
BASIC = {
    "basic-curl": ("shell", "curl -H 'Authorization: Basic <<value>>' https://jenkins.{word}.net/job/{word}/build"),
    "basic-verbose": (
        "output",
        "> POST /artifacts HTTP/1.1\n> Authorization: Basic <<value>>\n> User-Agent: curl/8.4.0",
    ),
    "basic-log": (
        "output",
        "[debug] request headers {'Host': '{word}', 'Authorization': 'Basic <<value>>', 'Accept': '*/*'}",
    ),
}
CONTEXTS = {"names": NAMED, "token": TOKENS, "password": PASSWORDS, "block": BLOCKS, "cookie": COOKIES, "basic": BASIC}
