/** Puts the page agent into this document, once per version. Injected on demand as one classic script. */
import { version } from '../manifest.json';
import { AGENT_KEY, createPageAgent, type PageAgent } from './page/agent';

const key = Symbol.for(AGENT_KEY);
const world = globalThis as unknown as Record<symbol, PageAgent | undefined>;
const earlier = world[key];
if (earlier?.version !== version) world[key] = createPageAgent(version, earlier);
