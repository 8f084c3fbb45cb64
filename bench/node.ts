import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

const READY_MS = 60_000

export type Node = { url: string; pid: number; stop(): Promise<void> }

/** Runs a script of this folder as a process and waits until it responds. */
export async function startScript(script: string, env: Record<string, string>): Promise<Node> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const loader = script.endsWith('.ts') ? ['--import', 'tsx'] : []
  const child = spawn(process.execPath, [...loader, fileURLToPath(new URL(script, import.meta.url))], {
    env: { ...process.env, NODE_ENV: 'production', LOG_LEVEL: 'warn', PORT: String(port), PUBLIC_URL: url, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  await untilReady(`${url}/ready`, child)
  return {
    url,
    pid: child.pid!,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

async function untilReady(url: string, child: ChildProcess) {
  for (const deadline = Date.now() + READY_MS; Date.now() < deadline; ) {
    if (child.exitCode !== null) throw new Error(`the process to measure ended with ${child.exitCode}`)
    if (
      await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the process to measure did not start in time')
}

export const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
