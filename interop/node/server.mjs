// The program serves rate limiters for Node on sockets in the directory that is its
// argument, in which their quotas are kept by the path of the URL. It reads one line of
// JSON, [{"name", "socket", "limit", "window"}], with the window in milliseconds, writes
// a line when it serves, and ends with its input.
import { createInterface } from 'node:readline';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import Fastify from 'fastify';
import fastifyRateLimit from '@fastify/rate-limit';

// Who asks is the path; a socket has no address of a client to tell.
const keyGenerator = (req) => req.url;

// Of each of the options is a limit; the second and later ones have twice the quota in five windows.
function expressServer(...stack) {
  return (socket, limit, windowMs) => {
    const app = express();
    stack.forEach((options, i) => {
      const quota = i === 0 ? { limit, windowMs } : { limit: 2 * limit, windowMs: 5 * windowMs };
      app.use(rateLimit({ ...quota, keyGenerator, ...options }));
    });
    app.use((req, res) => res.send('ok'));
    return new Promise((resolve, reject) => app.listen(socket, (err) => (err ? reject(err) : resolve())));
  };
}

function fastifyServer(options) {
  return async (socket, max, timeWindow) => {
    const app = Fastify();
    await app.register(fastifyRateLimit, { max, timeWindow, keyGenerator, ...options });
    app.get('/*', async () => 'ok');
    await app.listen({ path: socket });
  };
}

const kinds = {
  'express legacy': expressServer({ legacyHeaders: true, standardHeaders: false }),
  'express draft-6': expressServer({ legacyHeaders: false, standardHeaders: 'draft-6' }),
  'express draft-7': expressServer({ legacyHeaders: false, standardHeaders: 'draft-7' }),
  'express draft-8': expressServer({ legacyHeaders: false, standardHeaders: 'draft-8' }),
  'express stacked': expressServer(
    { legacyHeaders: false, standardHeaders: 'draft-8', identifier: 'short' },
    { legacyHeaders: false, standardHeaders: 'draft-8', identifier: 'long' },
  ),
  fastify: fastifyServer({}),
  // A request that is refused renews the window.
  'fastify, refusals count': fastifyServer({ continueExceeding: true }),
};

const lines = createInterface({ input: process.stdin });
lines.on('close', () => process.exit());
lines.once('line', async (line) => {
  for (const { name, socket, limit, window } of JSON.parse(line)) {
    await kinds[name](socket, limit, window);
  }
  console.log('ready');
});
