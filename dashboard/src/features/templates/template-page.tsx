import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { FileX } from 'lucide-react'
import { templateQuery } from '../../data/templates.ts'
import { useProject } from '../../projects/current.ts'
import { RecordPage } from '../../projects/record-page.tsx'
import { TemplateEditor } from './template-editor.tsx'

const MISSING = { icon: FileX, reason: 'It was deleted, or the link is wrong.' }

export function TemplatePage() {
  const { templateId } = useParams({ from: '/app/p/$projectId/templates/$templateId' })
  const project = useProject()
  const query = useQuery(templateQuery(project.id, templateId))
  return (
    <RecordPage kind="Template" id={templateId} query={query} labelOf={({ name }) => name} missing={MISSING}>
      {(template) => <TemplateEditor key={templateId} template={template} />}
    </RecordPage>
  )
}
