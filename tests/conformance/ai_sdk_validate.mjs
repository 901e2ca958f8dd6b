import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
const { validateUIMessages, convertToModelMessages, modelMessageSchema } = await import(pathToFileURL(process.argv[1]));
const check = {
  ui: async messages => { const seen = await validateUIMessages({ messages }); await convertToModelMessages(seen); return seen; },
  model: async messages => messages.map(message => modelMessageSchema.parse(message)),
}[process.argv[2]];
const results = {};
for (const [name, messages] of Object.entries(JSON.parse(readFileSync(0)))) {
  try {
    results[name] = await check(messages);
  } catch (error) {
    results[name] = { error: String(error) };
  }
}
console.log(JSON.stringify(results));
