import type { Template } from '@sterna/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { storeTemplate, templateQuery } from '../../data/templates.ts'
import { useDraft } from '../../editor/use-draft.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { type TemplateValues, templateChangesOf, templateValuesOf } from './template-values.ts'

const savedOf = (template: Template) => ({ values: templateValuesOf(template), revision: template.updatedAt })

/** A template while it is edited: on its own page, or in a step of a workflow. */
export function useTemplateDraft(template: Template) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const query = templateQuery(project.id, template.id)
  return useDraft<TemplateValues>({
    name: `template/${template.id}`,
    saved: savedOf(template),
    save: async (values, revision) => {
      const changed = await api.templates.update(template.id, templateChangesOf(templateValuesOf(template), values), { ifMatch: revision })
      await storeTemplate(queries, project.id, changed)
      return savedOf(changed)
    },
    reload: async () => savedOf(await queries.fetchQuery({ ...query, staleTime: 0 })),
  })
}
