import type { Template } from '../src/index.ts'
import { canBePulled, contentOf, hashOf, type LocalTemplate, type Synced, settingsOf } from './template-files.ts'

/** `conflict`: changed here and on the server. `behind`: changed on the server only. `only-there`: no file here. */
type Action = 'create' | 'update' | 'unchanged' | 'conflict' | 'behind' | 'only-there'
export type Step = { action: Action; key?: string; local?: LocalTemplate; remote?: Template; reason?: string }

type Sides = { local: LocalTemplate[]; remote: Template[]; synced: Record<string, Synced> }

/** How each template of the folder and of the project compare. Templates without an earlier meeting are the same if their names are. */
export function compare({ local, remote, synced }: Sides): Step[] {
  const byId = new Map(remote.map((template) => [template.id, template]))
  const met = new Set<string>()
  const steps = local.map((template): Step => {
    const last = synced[template.key]
    const other = (last && byId.get(last.id)) ?? remote.find(({ id, name }) => name === template.settings.name && !isTaken(id, synced))
    if (!other) return { action: 'create', key: template.key, local: template, ...(last && { reason: 'was deleted on the server' }) }
    met.add(other.id)
    return { action: judge(template, other, last?.id === other.id ? last : undefined), key: template.key, local: template, remote: other }
  })
  return [...steps, ...remote.filter(({ id }) => !met.has(id)).map((template): Step => ({ action: 'only-there', remote: template }))]
}

const isTaken = (id: string, synced: Record<string, Synced>) => Object.values(synced).some((each) => each.id === id)

function judge(local: LocalTemplate, remote: Template, last: Synced | undefined): Action {
  const isSame = local.hash === hashOf(settingsOf(remote), contentOf(remote))
  if (isSame) return 'unchanged'
  if (!last) return 'conflict'
  const [changedHere, changedThere] = [local.hash !== last.hash, remote.updatedAt !== last.updatedAt]
  if (changedHere && changedThere) return 'conflict'
  return changedHere ? 'update' : changedThere ? 'behind' : 'unchanged'
}

/** Whether `pull` writes it. A template whose source is rendered is not written: HTML cannot be turned back into it. */
export const isPulled = ({ action, local, remote }: Step, force: boolean): boolean =>
  action === 'only-there' || ((action === 'behind' || (force && action === 'conflict')) && canBePulled(local!, remote!))

/** Whether `push` writes it. */
export const isPushed = ({ action }: Step, force: boolean): boolean =>
  action === 'create' || action === 'update' || (force && (action === 'conflict' || action === 'behind'))
