import { copyOf, type Fragment } from '../commands/fragment.ts'
import type { Graph, Step } from '../graph/graph.ts'
import { STEP_VIEWS } from '../steps/views.ts'

/** In the storage of the browser, so that steps can be pasted into another workflow, also in another tab. */
const STORED = 'sterna.copied-steps'

type Copied = { projectId: string; fragment: Fragment }

export function writeCopied(projectId: string, fragment: Fragment) {
  try {
    localStorage.setItem(STORED, JSON.stringify({ projectId, fragment } satisfies Copied))
  } catch {
    // Storage is blocked or full: there is nothing to paste then.
  }
}

/** The copied steps with new ids. Templates belong to a project, so that those of another one have to be chosen again. */
export function readCopied(projectId: string): Fragment | undefined {
  const copied = parse(readText())
  if (!copied) return undefined
  const fragment = copyOf(copied.fragment)
  return copied.projectId === projectId ? fragment : { ...fragment, steps: fragment.steps.map(withoutTemplate) }
}

/** The name of the first copied step, for the menu. */
export function nameOfCopied(): string | undefined {
  const fragment = parse(readText())?.fragment
  return fragment?.steps.find(({ id }) => id === fragment.entry)?.name
}

function readText() {
  try {
    return localStorage.getItem(STORED) ?? ''
  } catch {
    return ''
  }
}

const withoutTemplate = (step: Step): Step => (step.type === 'SEND_EMAIL' ? { ...step, config: { ...step.config, templateId: '' } } : step)

/** Another version of the dashboard may have written it: anything that does not fit is no copy. */
function parse(text: string): Copied | undefined {
  if (!text) return undefined
  try {
    const { projectId, fragment } = JSON.parse(text) as Copied
    const ids = new Set((fragment as Graph & Fragment).steps.map(({ id }) => id))
    const isWhole =
      ids.has(fragment.entry) &&
      fragment.steps.every(({ type, config }) => STEP_VIEWS[type]?.newConfig && typeof config === 'object') &&
      fragment.transitions.every(({ fromStepId, toStepId }) => ids.has(fromStepId) && ids.has(toStepId)) &&
      fragment.exits.every(({ fromStepId }) => ids.has(fromStepId))
    return isWhole ? { projectId, fragment } : undefined
  } catch {
    return undefined
  }
}
