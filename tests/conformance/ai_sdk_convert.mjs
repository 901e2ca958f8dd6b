import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
const { convertToModelMessages } = await import(pathToFileURL(process.argv[1]));
const results = {};
for (const [name, messages] of Object.entries(JSON.parse(readFileSync(0)))) {
  results[name] = await convertToModelMessages(messages);
}
console.log(JSON.stringify(results));
