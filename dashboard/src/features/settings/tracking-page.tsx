import type { Project } from '@sterna/sdk'
import { EditorFrame } from '../../editor/editor-frame.tsx'
import { Choices } from '../../ui/form/choices.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { Card } from '../../ui/page/card.tsx'
import { PageBody } from '../../ui/page/page.tsx'
import { useSettingsDraft } from './use-settings-draft.ts'

const TRACKING: { value: Project['tracking']; label: string; hint: string }[] = [
  {
    value: 'ENABLED',
    label: 'In every email',
    hint: 'Shows which contacts opened and clicked. Every email has a pixel, and its links lead through this server.',
  },
  {
    value: 'MARKETING_ONLY',
    label: 'In marketing email only',
    hint: 'Transactional emails, such as receipts and sign-in codes, are sent unchanged. Their opens and clicks are not known.',
  },
  {
    value: 'DISABLED',
    label: 'Never',
    hint: 'No pixel, no rewritten links. Opens and clicks are not known, so segments that use them find no new contacts. Deliveries and bounces are still counted.',
  },
]

export function TrackingPage() {
  const { draft, mayManage, refusal } = useSettingsDraft('tracking', ['tracking'])
  return (
    <EditorFrame
      title="Tracking"
      draft={draft}
      consequence="Saving applies to all email sent from now on"
      {...(refusal && { problem: refusal })}
    >
      <PageBody>
        <div className="space-y-4">
          {refusal && <Banner>{refusal}.</Banner>}
          <Card>
            <fieldset disabled={!mayManage}>
              <Choices
                legend="Track opens and clicks"
                name="tracking"
                choices={TRACKING}
                chosen={draft.values.tracking}
                // The choices above offer only these values.
                onChoose={(value) => draft.set({ tracking: value as Project['tracking'] })}
              />
            </fieldset>
          </Card>
          <p className="max-w-2xl text-muted text-ui">
            Opens by machines, such as mail proxies and link scanners, are recognised and kept apart. Emails that were already sent keep
            their links: those work whatever you choose here.
          </p>
        </div>
      </PageBody>
    </EditorFrame>
  )
}
