import { sql } from 'kysely'
import { expect } from 'vitest'
import type { Answer, useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newProject, type SendingProject } from '../support/project.ts'

type Sterna = ReturnType<typeof useSharedApp>
type Step = { type: string; config?: object; [key: string]: unknown }

/** A sending project with requests about its workflows. */
export const newWorkflowProject = (sterna: Sterna, owner?: Awaited<ReturnType<Sterna['newPerson']>>) =>
  newProject(sterna, owner).sending().with(workflows)

/** Requests about workflows. */
function workflows({ id: projectId, call }: SendingProject, { db }: Pick<Sterna, 'db'>) {
  async function created(answer: Answer): Promise<Answer['body']> {
    expect([answer.status, answer.body.error]).toEqual([201, undefined])
    return answer.body
  }
  const create = async (more: object = {}) => created(await call('POST', '/workflows', { name: 'Welcome', eventName: 'signup', ...more }))
  const get = async (id: string): Promise<Answer['body']> => (await call('GET', `/workflows/${id}`)).body
  const addStep = async (id: string, step: Step) => created(await call('POST', `/workflows/${id}/steps`, step))
  const connect = (id: string, fromStepId: string, toStepId: string, branch?: string) =>
    call('POST', `/workflows/${id}/transitions`, { fromStepId, toStepId, ...(branch ? { branch } : {}) })

  /** An enabled workflow whose steps follow each other. */
  async function line(steps: Step[], more: object = {}) {
    const workflow = await create(more)
    let last = workflow.steps[0].id
    const ids: string[] = []
    for (const step of steps) {
      const { id } = await addStep(workflow.id, step)
      await created(await connect(workflow.id, last, id))
      ids.push(id)
      last = id
    }
    await call('PATCH', `/workflows/${workflow.id}`, { enabled: true })
    return { id: workflow.id as string, triggerId: workflow.steps[0].id as string, steps: ids }
  }

  const executions = async (id: string, query = ''): Promise<Answer['body'][]> =>
    (await call('GET', `/workflows/${id}/executions${query}`)).body.data
  const execution = async (id: string, executionId: string): Promise<Answer['body']> =>
    (await call('GET', `/workflows/${id}/executions/${executionId}`)).body

  /** The only execution, once it has ended. */
  const ended = (id: string) =>
    eventually(async () => {
      const [only] = await executions(id)
      expect(['COMPLETED', 'EXITED', 'FAILED', 'CANCELLED']).toContain(only?.status)
      return execution(id, only.id)
    })

  const start = (id: string, contactId: string, context?: object) =>
    call('POST', `/workflows/${id}/executions`, { contactId, ...(context ? { context } : {}) })

  /** The only execution, once it waits. */
  const waiting = (id: string) =>
    eventually(async () => {
      const [only] = await executions(id, '?status=WAITING')
      expect(only).toBeDefined()
      return execution(id, only.id)
    })

  /** Lets the time of a pause pass, or that until the next attempt. A wait ends some seconds after its deadline. */
  const elapse = (executionId: string) =>
    sql`
      update workflow_executions set due_at = now(), arrived_at = case when awaits is null then arrived_at else least(arrived_at, now() - interval '7 s') end,
        deadline_at = case when awaits is null then deadline_at else now() - interval '6 s' end
      where project_id = ${projectId} and id = ${executionId}
    `.execute(db)

  const explain = async (id: string, contactId: string): Promise<Answer['body']> =>
    (await call('GET', `/workflows/${id}/explain/${contactId}`)).body
  const stats = async (id: string): Promise<Answer['body']> => (await call('GET', `/workflows/${id}/stats`)).body

  /** The counts of the workflow in the list. */
  const counts = async (id: string): Promise<Answer['body']> =>
    (await call('GET', '/workflows?pageSize=100')).body.data.find((each: { id: string }) => each.id === id)._count

  return {
    create,
    get,
    counts,
    addStep,
    connect,
    line,
    executions,
    execution,
    ended,
    created,
    start,
    waiting,
    elapse,
    explain,
    stats,
  }
}
