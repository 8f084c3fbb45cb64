import { type Db, maybeOne, maybeScalar, scalar, type Tx } from '../../db/index.ts'
import { newId } from '../../lib/id.ts'
import type { WebhookTarget } from '../../lib/network/webhook-target.ts'
import { readOwnCondition } from '../../segments/definition/check-condition.ts'
import { createSegment } from '../../segments/save.ts'
import { withRenderedBody } from '../../templates/design/body.ts'
import { footer, logo, spacer } from '../../templates/starters/build.ts'
import { identified } from '../../templates/starters/starters.ts'
import { createTemplate } from '../../templates/template.ts'
import { insertWorkflow } from '../definition/save.ts'
import { readStepConfig } from '../definition/step-config.ts'
import { readTrigger } from '../definition/trigger.ts'
import { checkGraphReferences } from '../definition/uses.ts'
import { graphOfRecipe } from './graph-of-recipe.ts'
import type { Recipe, RecipeEmail, RecipeStep, RecipeTrigger } from './recipe.ts'

type Sender = { from: string | null; fromName: string | null }
type Creation = {
  projectId: string
  recipe: Recipe
  name?: string | undefined
  eventName?: string | undefined
  savedBy?: string | undefined
  target: WebhookTarget
}

/** Makes the templates of a recipe, the segment of its schedule, and the workflow, which is disabled. */
export async function createFromRecipe(tx: Tx, { projectId, recipe, name, eventName, savedBy, target }: Creation) {
  const id = newId()
  const sender = await findSender(tx, projectId)
  const templates = new Map<string, string>()
  for (const [key, email] of Object.entries(recipe.emails)) {
    const content = await contentOf(tx, projectId, email)
    templates.set(key, (await createTemplate(tx, projectId, { ...content, ...sender, workflowId: id }, { savedBy })).id)
  }
  const { triggerType, triggerConfig } = await createTrigger(tx, projectId, recipe.trigger, eventName)
  const readConfig = ({ type, config, email }: RecipeStep) => {
    const templateId = email === undefined ? {} : { templateId: templates.get(email) }
    return readStepConfig({ type, config: { ...config, ...templateId } }, { path: '', target, projectId })
  }
  const graph = await graphOfRecipe(recipe.steps, readConfig, new Date().toISOString())
  await checkGraphReferences(tx, projectId, graph.steps, () => '')
  const { name: ownName, description, allowReentry } = recipe
  const workflow = { projectId, id, name: name ?? ownName, description, triggerType, triggerConfig, allowReentry, savedBy }
  return insertWorkflow(tx, workflow, graph)
}

/** In the look of the project. Marketing has a footer with a link to unsubscribe. */
async function contentOf(tx: Tx, projectId: string, email: RecipeEmail) {
  const { name, subject, previewText, type = 'MARKETING', content } = email
  const blocks = [spacer(16), logo(), ...content, spacer(16), ...(type === 'MARKETING' ? [footer()] : [])]
  const design = { version: 1, content: identified(blocks) }
  const { body = '', design: stored } = await withRenderedBody(tx, projectId, { design })
  return { name, subject, previewText, type, body, design: stored ?? null }
}

/** The sender of the template that was changed last, else one of the first verified domain. */
async function findSender(db: Db, projectId: string): Promise<Sender> {
  const fromName = await scalar<string>(db)`select name from projects where id = ${projectId}`
  const last = await maybeOne<Sender>(db)`
    select from_address as "from", from_name as "fromName" from templates
    where project_id = ${projectId} and from_address is not null order by updated_at desc limit 1
  `
  if (last) return last
  const domain = await maybeScalar<string>(db)`
    select domain from domains where project_id = ${projectId} and status = 'verified' order by created_at limit 1
  `
  return { from: domain ? `hello@${domain}` : null, fromName }
}

async function createTrigger(tx: Tx, projectId: string, trigger: RecipeTrigger, eventName: string | undefined) {
  if (trigger.type === 'EVENT')
    return { triggerType: trigger.type, triggerConfig: readTrigger('EVENT', { eventName: eventName ?? trigger.eventName }) }
  const { name, description, condition } = trigger.segment
  const segment = await createSegment(tx, { projectId, name, description, condition: readOwnCondition(condition), trackMembership: false })
  const triggerConfig = readTrigger('SCHEDULE', { schedule: trigger.schedule, segmentId: segment.id })
  return { triggerType: trigger.type, triggerConfig }
}
