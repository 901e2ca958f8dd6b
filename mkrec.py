import json,gzip,sys
from pathlib import Path
sys.path.insert(0,'/work/wt/harness')
from tests.agents.invent import exchange
out=Path('/tmp/rec'); out.mkdir(exist_ok=True)
for d in ('day-claude','day-codex','day-gemini','day-opencode','tui-claude','tui-gemini','tui-opencode'):
    n=d.split('-')[1]
    lines=[json.dumps(exchange(json.loads(l)),separators=(',',':')) for l in open(f'/tmp/{d}/log/{n}.jsonl')]
    (out/d/'log').mkdir(parents=True,exist_ok=True)
    raw='\n'.join(lines)+'\n'
    (out/d/'log'/f'{n}.jsonl').write_text(raw)
    (out/d/'truth.json').write_text(open(f'/tmp/{d}/truth.json').read())
    print(d,len(open(f'/tmp/{d}/log/{n}.jsonl').read()),len(raw),len(gzip.compress(raw.encode(),9)))
