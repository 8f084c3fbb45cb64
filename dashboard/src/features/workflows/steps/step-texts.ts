import type { Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { segmentNamesQuery } from '../../../data/segments.ts'
import { templateNamesQuery } from '../../../data/templates.ts'
import { useProject } from '../../../projects/current.ts'
import type { Step } from '../graph/graph.ts'
import { describeTrigger } from './describe.ts'
import { STEP_VIEWS } from './views.ts'

export type StepTexts = (step: Step) => { title: string; text: string }

/** Title and description of a step, by the names of templates and segments. */
export function useTextsOf(workflow: Pick<Workflow, 'triggerType' | 'triggerConfig'>): StepTexts {
  const project = useProject()
  const templates = useQuery(templateNamesQuery(project.id)).data
  const segments = useQuery(segmentNamesQuery(project.id)).data
  return useCallback(
    (step) => {
      if (step.type === 'TRIGGER') return { title: describeTrigger(workflow, segments ?? {}), text: 'Contacts enter here' }
      const { word, describe } = STEP_VIEWS[step.type]
      const words = templates && segments ? describe(step.config, { templates, segments }) : ''
      return { title: step.name, text: step.name === word ? words : [word, words].filter(Boolean).join(' · ') }
    },
    [workflow, templates, segments],
  )
}
