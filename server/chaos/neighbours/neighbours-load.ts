import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Random } from '../support/random.ts'

type Project = { url: string; secret: string; public: string; domain: string }
/** A request of a neighbour and its response. Status 0: there was none. `refusal`: its message. */
export type Answered = { what: string; ms: number; status: number; refusal: string }
type Accepted = { id: string; at: number }
type Call = { what: string; method: string; key: string; body?: object }

const PATIENCE_MS = 60_000
const CONTACTS = 200

type Load = { projects: Project[]; perSecond: number; random: Random; mostPending?: number | undefined }

/** Projects that send, track and read at a steady rate, however long the responses take, unless `mostPending` are awaited. */
export function startNeighbours({ projects, perSecond, random, mostPending = Number.POSITIVE_INFINITY }: Load) {
  const agent = new Agent({ keepAlive: true })
  const pending = new Set<Promise<unknown>>()
  let answers: Answered[] = []
  let emails: Accepted[] = []
  let last = 0

  const address = () => `contact${random.below(CONTACTS)}@neighbour.example`
  const calls: ((project: Project) => Call)[] = [
    ({ secret, domain }) => ({
      what: '/v1/send',
      method: 'POST',
      key: secret,
      body: { to: address(), from: `news@${domain}`, subject: `Email ${++last}`, body: '<p>Hello {{email}}</p>' },
    }),
    (project) => ({ what: '/v1/track', method: 'POST', key: project.public, body: { email: address(), event: 'page viewed' } }),
    ({ secret }) => ({ what: '/contacts?limit=20', method: 'GET', key: secret }),
  ]

  async function ask(project: Project, { what, method, key, body }: Call) {
    const startedAt = performance.now()
    const answer = await call(agent, project.url + what, { method, key, body }).catch(() => ({ status: 0, content: '' }))
    const refusal = /"message":"([^"]*)/.exec(answer.content)?.[1] ?? ''
    answers.push({ what, ms: performance.now() - startedAt, status: answer.status, refusal })
    const id = what === '/v1/send' && answer.status === 200 && JSON.parse(answer.content).data.emails[0].email
    if (id) emails.push({ id, at: Date.now() })
  }

  let turn = 0
  const timer = setInterval(() => {
    if (pending.size >= mostPending) return
    const project = projects[turn % projects.length]!
    const asked = ask(project, calls[Math.floor(turn++ / projects.length) % calls.length]!(project))
    pending.add(asked)
    asked.finally(() => pending.delete(asked))
  }, 1_000 / perSecond)

  return {
    /** Responses and accepted emails since the last call, once no request is under way. */
    async take() {
      await Promise.all(pending)
      const taken = { answers, emails }
      answers = []
      emails = []
      return taken
    },
    async stop() {
      clearInterval(timer)
      await Promise.all(pending)
      agent.destroy()
    },
  }
}

export type Neighbours = ReturnType<typeof startNeighbours>

function call(agent: Agent, url: string, { method, key, body }: { method: string; key: string; body: object | undefined }) {
  return new Promise<{ status: number; content: string }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) }
    const req = request(url, { method, agent, headers, timeout: PATIENCE_MS })
    req.once('timeout', () => req.destroy(new Error('no answer')))
    req.once('error', reject)
    req.once('response', (answer) => text(answer).then((content) => resolve({ status: answer.statusCode!, content }), reject))
    req.end(body && JSON.stringify(body))
  })
}
