/** Writes the files that are made from the registry: `npx tsx scripts/generate.ts`. */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { generatedFiles } from './generated-files';

for (const { path, text } of generatedFiles()) {
  writeFileSync(path, text);
  console.log(`${relative(process.cwd(), path)}: ${text.length} characters`);
}
