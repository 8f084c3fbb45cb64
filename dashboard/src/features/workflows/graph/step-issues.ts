import type { Graph } from './graph.ts'

/** Refusals of the server, by step. The graph is the one that was sent, until something is changed. */
export function issuesByStep(issues: { field: string; message: string }[], { steps, transitions }: Graph): Map<string, string> {
  return new Map(
    issues.flatMap(({ field, message }) => {
      const [, kind, index, rest = ''] = /^(steps|transitions)\.(\d+)\.?(.*)$/.exec(field) ?? []
      if (index === undefined) return []
      const stepId = kind === 'steps' ? steps[Number(index)]?.id : transitions[Number(index)]?.fromStepId
      const place = rest.replace(/^config\.?/, '')
      return stepId ? [[stepId, kind === 'steps' && place ? `${place}: ${message}` : message] as const] : []
    }),
  )
}
