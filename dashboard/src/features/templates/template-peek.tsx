import type { TemplateListItem } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { TYPE_NAMES } from '../../content/values/content-values.ts'
import { templatePreviewQuery, templateQuery, templateUsageQuery } from '../../data/templates.ts'
import { useProject } from '../../projects/current.ts'
import { RecordPeek } from '../../projects/record-peek.tsx'
import { Fact, Facts } from '../../ui/dialog/peek-panel.tsx'
import { MessageFrame } from '../../ui/message/message-frame.tsx'
import { CopyText } from '../../ui/text/copy-field.tsx'
import { Time } from '../../ui/text/time.tsx'
import { UsageText } from './usage.tsx'

/** A look at a template beside the list. */
export function TemplatePeek({ id, template: known }: { id: string; template: TemplateListItem | undefined }) {
  const project = useProject()
  const query = useQuery({ ...templateQuery(project.id, id), ...(known && { placeholderData: { ...known, design: null } }) })
  const usage = useQuery(templateUsageQuery(project.id, id)).data
  const preview = useQuery({
    ...templatePreviewQuery(project.id, query.data ?? { id, updatedAt: '' }),
    enabled: query.data !== undefined,
  })
  return (
    <RecordPeek noun="template" path={`/templates/${id}`} query={query}>
      {(template) => (
        <>
          <Facts>
            <Fact label="Subject">{template.subject}</Fact>
            {template.previewText && <Fact label="Preview text">{template.previewText}</Fact>}
            <Fact label="Type">{TYPE_NAMES[template.type]}</Fact>
            {template.description && <Fact label="Description">{template.description}</Fact>}
            <Fact label="Used in">{usage ? <UsageText usage={usage} /> : '…'}</Fact>
            <Fact label="Last edited">
              <Time value={template.updatedAt} />, version {template.version}
            </Fact>
            <Fact label="Id">
              <CopyText value={template.id} label="Id" mono />
            </Fact>
          </Facts>
          {preview.data?.frameUrl && (
            <div className="h-[28rem] overflow-hidden rounded-lg border border-line">
              <MessageFrame fill images title={`Preview of ${template.name}`} url={preview.data.frameUrl} />
            </div>
          )}
        </>
      )}
    </RecordPeek>
  )
}
