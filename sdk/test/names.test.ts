import { expect, test } from 'vitest'
import { nameEndpoints } from '../scripts/names.ts'

/** The names of endpoints such as `GET /contacts`; a trailing `[]` marks a list. */
function namesOf(...endpoints: string[]): string[] {
  const names = nameEndpoints(
    endpoints.map((endpoint) => {
      const [method, path] = endpoint.replace('[]', '').split(' ') as [string, string]
      return { method, path, isList: endpoint.endsWith('[]') }
    }),
  )
  return [...names.values()].map(({ resource, method }) => `${resource}.${method}`)
}

test.each<[string[], string[]]>([
  [
    ['GET /things[]', 'POST /things', 'GET /things/{id}', 'PATCH /things/{id}', 'DELETE /things/{id}'],
    ['things.list', 'things.create', 'things.get', 'things.update', 'things.delete'],
  ],
  [['PUT /campaigns/{id}'], ['campaigns.update']],
  [['GET /config'], ['config.get']],
  [
    ['POST /campaigns/{id}/send', 'GET /campaigns/{id}/stats'],
    ['campaigns.send', 'campaigns.stats'],
  ],
  [['POST /contacts/bulk-add-to-segment'], ['contacts.bulkAddToSegment']],
  [['GET /segments/{id}/explain/{contactId}'], ['segments.explain']],
  [
    ['POST /segments/{id}/members', 'DELETE /segments/{id}/members'],
    ['segments.addMembers', 'segments.removeMembers'],
  ],
  [
    ['POST /workflows/{id}/steps', 'PATCH /workflows/{id}/steps/{stepId}', 'DELETE /workflows/{id}/steps/{stepId}'],
    ['workflows.createStep', 'workflows.updateStep', 'workflows.deleteStep'],
  ],
  [
    ['PUT /workflows/{id}/graph', 'POST /workflows/{id}/transitions', 'DELETE /workflows/{id}/transitions/{transitionId}'],
    ['workflows.updateGraph', 'workflows.createTransition', 'workflows.deleteTransition'],
  ],
  [
    ['POST /workflows/{id}/executions', 'DELETE /workflows/{id}/executions/{executionId}', 'POST /workflows/{id}/simulate'],
    ['workflows.startExecution', 'workflows.cancelExecution', 'workflows.simulate'],
  ],
  [
    ['GET /projects/{id}/webhook-secret', 'POST /projects/{id}/webhook-secret'],
    ['projects.webhookSecret', 'projects.rotateWebhookSecret'],
  ],
  [
    ['GET /workflows/{id}/executions[]', 'GET /workflows/{id}/executions/{executionId}', 'POST /workflows/{id}/executions/cancel-all'],
    ['workflows.listExecutions', 'workflows.getExecution', 'workflows.cancelAllExecutions'],
  ],
  [
    ['GET /templates/{id}/versions[]', 'GET /templates/{id}/versions/{version}', 'POST /templates/{id}/versions/{version}/restore'],
    ['templates.listVersions', 'templates.getVersion', 'templates.restoreVersion'],
  ],
  [
    ['GET /users/@me/projects/{id}/billing-limits', 'PUT /users/@me/projects/{id}/billing-limits'],
    ['projects.billingLimits', 'projects.updateBillingLimits'],
  ],
  [
    ['GET /projects/{id}/members[]', 'POST /projects/{id}/members'],
    ['members.list', 'members.invite'],
  ],
  [['POST /v1/send', 'POST /v1/track', 'POST /v1/verify'], []],
])('%j are %j', (endpoints, names) => {
  expect(namesOf(...endpoints)).toEqual(names)
})

test('two endpoints with one name are an error that says where to name them', () => {
  expect(() => namesOf('GET /things/{id}/usage', 'GET /things/usage')).toThrow(
    'GET /things/{id}/usage and GET /things/usage are both things.usage: name one of them in sdk/scripts/names.ts',
  )
})
