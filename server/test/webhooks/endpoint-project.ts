import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import type { useApp } from '../support/app.ts'
import { newProject } from '../support/project.ts'

/** 127.0.0.2 stands for the public internet. */
export const RECEIVER_ENV = { RATE_LIMIT_PER_MINUTE: '0', WEBHOOK_ALLOW_PRIVATE: '127.0.0.2/32' }

type Received = { headers: IncomingHttpHeaders; text: string; body: ReturnType<typeof JSON.parse> }
type Endpoint = { id: string; url: string; secret: string; events: string[]; enabled: boolean; disabledReason: string | null }

/** A host of a customer. `respond` gets the number of the request, from 1 on. */
export async function startReceiver(respond: (res: ServerResponse, number: number) => void = (res) => res.end()) {
  const received: Received[] = []
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', (chunk) => {
      text += chunk
    })
    req.on('end', () => {
      received.push({ headers: req.headers, text, body: JSON.parse(text) })
      respond(res, received.length)
    })
  }).listen(0, '127.0.0.2')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.2:${port}/in`, received, types: () => received.map(({ body }) => body.type as string), stop }
}

/** Whether one of the signatures is by that secret. */
export function isSignedBy(secret: string, { headers, text }: Received) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  return String(headers['webhook-signature'])
    .split(' ')
    .includes(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
}

/** A project with requests about its webhook endpoints. */
export const newEndpointProject = (sterna: ReturnType<typeof useApp>, owner?: Awaited<ReturnType<typeof sterna.newPerson>>) =>
  newProject(sterna, owner).with((project) => {
    const path = (id: string, more = '') => `/webhook-endpoints/${id}${more}`
    return {
      async endpoint(url: string, events = ['*']): Promise<Endpoint> {
        const { status, body } = await project.call('POST', '/webhook-endpoints', { url, events })
        expect([status, body]).toEqual([201, expect.anything()])
        return body
      },
      get: async (id: string) => (await project.call('GET', path(id))).body,
      patch: (id: string, body: object) => project.call('PATCH', path(id), body),
      deliveries: async (id: string, query = '') => (await project.call('GET', path(id, `/deliveries${query}`))).body.data,
      replay: (id: string, delivery: string) => project.call('POST', path(id, `/deliveries/${delivery}/replay`)),
    }
  })
