"""What is random and public: keys that are meant to be seen, checksums, ids."""

from __future__ import annotations

ROWS = {
    "ssh-public-key": ("file authorized_keys", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} deploy@{word}"),
    "ssh-rsa-public-key": ("output", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{b480}= {word}@laptop"),
    "known-hosts": ("output", "github.com ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTY{b60}="),
    "public-key-block": (
        "file pub.pem",
        (
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEF{b40}\n{b64}\n{b64}\n{b44}IDAQAB\n"
            "-----END PUBLIC KEY-----"
        ),
    ),
    "certificate": (
        "file {word}.crt",
        "-----BEGIN CERTIFICATE-----\nMIIDXTCCAkWgAwIBAgIJA{b43}\n{b64}\n{b64}\n{b62}==\n-----END CERTIFICATE-----",
    ),
    "certificate-request": (
        "file {word}.csr",
        "-----BEGIN CERTIFICATE REQUEST-----\nMIICijCCAXICAQAw{b48}\n{b64}\n{b40}\n-----END CERTIFICATE REQUEST-----",
    ),
    "pgp-public-key": (
        "output",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINBG{b58}\n{b64}\n={b4}\n-----END PGP PUBLIC KEY BLOCK-----",
    ),
    "pgp-signature": (
        "output",
        "-----BEGIN PGP SIGNATURE-----\n\niQIzBAABCAAdFiEE{b48}\n{b64}\n={b4}\n-----END PGP SIGNATURE-----",
    ),
    "kubeconfig-ca": (
        "file kubeconfig",
        "    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSU{b400}==",
    ),
    "ssh-fingerprint": ("output", "256 SHA256:{b43} deploy@{word} (ED25519)"),
    "md5-fingerprint": (
        "output",
        "The key fingerprint is MD5:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}:{h2}",
    ),
    "pgp-fingerprint": ("output", "pub   rsa4096 2023-0{n1}-1{n1} [SC]\n      {H40}\nuid   {Word} Release Signing Key"),
    "apt-key-id": ("shell", "gpg --keyserver keyserver.ubuntu.com --recv-keys 0x{H16}"),
    "sha256sum": ("output", "{h64}  {word}-1.{n1}.{n1}.tar.gz\n{h64}  {word}-1.{n1}.{n1}.zip"),
    "md5sum": ("output", "{h32}  ./dist/{word}.whl"),
    "sha512-hex": ("output", "SHA512 ({word}.iso) = {h128}"),
    "sri-hash": (
        "file index.html",
        '<script src="/{word}.js" integrity="sha384-{b64}" crossorigin="anonymous"></script>',
    ),
    "npm-lock": (
        "file package-lock.json",
        (
            '    "node_modules/{word}": {\n      "version": "4.{n1}.{n1}",\n      "integrity": "sha512-{b86}==",\n'
            '      "license": "MIT"\n    },'
        ),
    ),
    "yarn-lock": (
        "file yarn.lock",
        (
            '{word}@^2.{n1}.0:\n  version "2.{n1}.{n1}"\n'
            '  resolved "https://registry.yarnpkg.com/{word}/-/{word}-2.1.0.tgz#{h40}"\n  integrity sha512-{b86}=='
        ),
    ),
    "yarn-berry-lock": (
        "file yarn.lock",
        '"{word}@npm:^3.0.0":\n  version: 3.{n1}.0\n  checksum: 10c0/{h128}\n  languageName: node',
    ),
    "pnpm-lock": (
        "file pnpm-lock.yaml",
        "  /{word}@5.{n1}.{n1}:\n    resolution: {integrity: sha512-{b86}==}\n    engines: {node: '>=8'}",
    ),
    "cargo-lock": (
        "file Cargo.lock",
        '[[package]]\nname = "{word}-token"\nversion = "0.{n1}.{n1}"\nchecksum = "{h64}"',
    ),
    "poetry-lock": (
        "file poetry.lock",
        '    {file = "{word}-2.{n1}.0-py3-none-any.whl", hash = "sha256:{h64}"},\n\n[metadata]\ncontent-hash = "{h64}"',
    ),
    "uv-lock": (
        "file uv.lock",
        (
            'sdist = { url = "https://files.pythonhosted.org/packages/{h2}/{h2}/{h60}/{word}-1.0.tar.gz", hash = '
            '"sha256:{h64}", size = {d5} }'
        ),
    ),
    "pipfile-lock": (
        "file Pipfile.lock",
        (
            '        "keyring": {\n            "hashes": [\n                "sha256:{h64}"\n            ],\n'
            '            "version": "==2{n1}.1.0"'
        ),
    ),
    "requirements-hash": (
        "file requirements.txt",
        "{word}-auth==2.{n1}.0 \\\n    --hash=sha256:{h64} \\\n    --hash=sha256:{h64}",
    ),
    "go-sum": (
        "file go.sum",
        "github.com/{word}/jwt/v5 v5.{n1}.0 h1:{b43}=\ngithub.com/{word}/jwt/v5 v5.{n1}.0/go.mod h1:{b43}=",
    ),
    "gemfile-checksum": ("file Gemfile.lock", "CHECKSUMS\n  {word} (7.{n1}.{n1}) sha256={h64}"),
    "composer-lock": ("file composer.lock", '            "reference": "{h40}",\n            "shasum": ""'),
    "nix-hash": ("file default.nix", '    sha256 = "sha256-{b43}=";\n    vendorHash = "sha256-{b43}=";'),
    "terraform-lock": ("file .terraform.lock.hcl", '  hashes = [\n    "h1:{b43}=",\n    "zh:{h64}",\n  ]'),
    "flake-lock": (
        "file flake.lock",
        '        "narHash": "sha256-{b43}=",\n        "rev": "{h40}",\n        "type": "github"',
    ),
    "docker-digest": ("output", "Digest: sha256:{h64}\nStatus: Downloaded newer image for {word}:latest"),
    "docker-from-digest": ("file Dockerfile", "FROM python:3.12-slim@sha256:{h64} AS {word}"),
    "docker-layer": (
        "output",
        " => => sha256:{h64} 2{d1}.{d2}MB / 29.15MB\n => CACHED [{word} 2/{n1}] RUN pip install",
    ),
    "container-id": (
        "output",
        '{h12}   {word}/{word}:1.{n1}   "docker-entrypoint.s…"   Up 3 hours   0.0.0.0:{port}->80/tcp   {word}_{word}_1',
    ),
    "git-log": (
        "output",
        "commit {h40}\nAuthor: {Word}\nDate:   Mon Mar 1{n1} 10:2{n1}:00 2024 +0100\n\n    Rotate the {word} token",
    ),
    "git-short": ("output", "{h7} Fix password reset for {word}\n{h7} Bump {word} from 1.{n1} to 2.0"),
    "git-tree": ("output", "100644 blob {h40}\tsrc/auth/token.py\n040000 tree {h40}\tsecrets"),
    "submodule": ("output", " {h40} vendor/{word} (v2.{n1}.{n1})\n-{h40} third_party/{word}"),
    "action-pinned": ("file .github/workflows/lint.yml", "      - uses: actions/checkout@{h40} # v4.{n1}.0"),
    "etag": ("output", '< HTTP/2 200\n< etag: "{h32}"\n< x-request-id: {uuid}\n< cache-control: public'),
    "cache-key": ("output", "Cache restored from key: Linux-node-{h64}\nkey: pip-{h40}"),
    "asset-hash": (
        "output",
        "dist/assets/index-{w8}.js   14{n1}.2{n1} kB │ gzip: 4{n1}.1 kB\ndist/assets/{word}.{h20}.css",
    ),
    "uuid": ("output", "created job {uuid} for tenant {uuid}"),
    "uuid-json": ("output", '{"id": "{uuid}", "session_id": "{uuid}", "status": "done"}'),
    "ulid": ("output", "event 01HX{U22} handled by {word}"),
    "trace-id": ("output", "traceparent: 00-{h32}-{h16}-01"),
    "trace-log": ("output", 'level=info trace_id={h32} span_id={h16} msg="token refreshed" service={word}'),
    "aws-resource-ids": ("output", "vpc-0{h16}  subnet-0{h16}  sg-0{h16}  i-0{h16}"),
    "azure-subscription": ("output", '"tenantId": "{uuid}",\n"subscriptionId": "{uuid}",\n"clientId": "{uuid}"'),
    "mongo-object-id": ("output", '{ _id: ObjectId("{h24}"), user: "{word}", tokens: {d2} }'),
    "ethereum-address": ("output", "Deployed {Word}Token to 0x{h40} in block {d8}"),
    "transaction-hash": ("output", "transaction 0x{h64} was mined"),
    "stripe-publishable": ("file checkout.ts", "const stripe = loadStripe('pk_live_51{a97}');"),
    "stripe-object-ids": ("output", "cus_{a14} pi_3{a23} price_1{a23} sub_1{a23}"),
    "recaptcha-site-key": ("file form.html", '<div class="g-recaptcha" data-sitekey="6L{w38}"></div>'),
    "mapbox-public": ("file map.js", "mapboxgl.accessToken = 'pk.eyJ1Ijoi{a60}.{w22}';"),
    "google-client-id": ("file auth.js", "const clientId = '{d12}-{l32}.apps.googleusercontent.com';"),
    "analytics-id": ("file layout.html", "gtag('config', 'G-{U10}');\nga('create', 'UA-{d8}-1');"),
    "vapid-public": ("file push.js", "const applicationServerPublicKey = 'B{w86}';"),
    "age-recipient": ("file .sops.yaml", "    age: age1{i58}"),
    "jwks": ("output", '{"kty":"RSA","use":"sig","alg":"RS256","kid":"{w22}","n":"{w342}","e":"AQAB"}'),
    "base64-image": ("output", '<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{b300}==">'),
    "base64-font": ("file fonts.css", "src: url(data:font/woff2;base64,d09GMgABAAAAA{b400}) format('woff2');"),
    "notebook-image": ("file plot.ipynb", '     "image/png": "iVBORw0KGgoAAAANSUhEUgAA{b500}==\\n",'),
    "sops-encrypted": (
        "file secrets.enc.yaml",
        "password: ENC[AES256_GCM,data:{b24}==,iv:{b43}=,tag:{b22}==,type:str]",
    ),
    "sealed-secret": ("file sealed.yaml", "  encryptedData:\n    password: AgB{b300}=="),
}
