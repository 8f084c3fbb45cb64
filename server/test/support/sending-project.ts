import { expect } from 'vitest'
import { outcome } from './answers.ts'
import type { useApp } from './app.ts'
import { eventually } from './eventually.ts'

type Sterna = ReturnType<typeof useApp>
let projects = 0

/** A project with a verified domain, without link tracking, whose emails end in the sandbox. */
export async function newSendingProject(sterna: Sterna, owner?: Awaited<ReturnType<Sterna['newPerson']>>) {
  const project = await sterna.newProject(owner)
  await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking: 'DISABLED' } })
  const domain = `sender${++projects}.example`
  const { call } = project
  const { id: domainId } = (await call('POST', '/domains', { domain })).body as { id: string }
  const sendBody = (more: object = {}) => ({
    to: 'ada@example.com',
    from: `hello@${domain}`,
    subject: 'Hi',
    body: '<p>Hi</p>',
    ...more,
  })
  const send = (more: object = {}, options: { key?: string } = {}) => project.send(sendBody(more), options)
  const email = async (id: string) => (await call('GET', `/emails/${id}`)).body
  return {
    ...project,
    domain,
    domainId,
    sendBody,
    send,
    email,
    template: async (more: object = {}): Promise<string> => {
      const answer = await call('POST', '/templates', { name: 'T', subject: 'S', body: '<p>B</p>', type: 'TRANSACTIONAL', ...more })
      expect(outcome(answer)).toEqual([201])
      return answer.body.id
    },
    /** Sends to one recipient and waits until the email has ended. */
    async sent(more: object = {}) {
      const answer = await send(more)
      expect(outcome(answer)).toEqual([200])
      return eventually(async () => {
        const found = await email(answer.body.data.emails[0].email)
        expect(['PENDING', 'SENDING']).not.toContain(found.status)
        return found
      })
    },
    /** The message of an email in the sandbox. */
    async source(emailId: string): Promise<string> {
      const { data } = (await call('GET', '/sandbox/messages?limit=100')).body
      const { id } = data.find((each: { emailId: string }) => each.emailId === emailId)
      return (await call('GET', `/sandbox/messages/${id}`)).body.source
    },
  }
}
