import { Download } from 'lucide-react'
import type { ReactNode } from 'react'
import { IconButton } from '../../ui/form/button.tsx'
import { Card } from '../../ui/page/card.tsx'
import { saveCsv } from '../../ui/table/csv.ts'

type PanelProps = {
  title: string
  description?: ReactNode
  /** The data of the panel. Without rows there is nothing to save. */
  csv?: { headings: string[]; rows: (string | number | null)[][] }
  actions?: ReactNode
  /** Shown instead of the content. */
  empty?: string | undefined
  children: ReactNode
}

/** A part of the page, with its data as CSV. */
export function Panel({ title, description, csv, actions, empty, children }: PanelProps) {
  const name = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
  return (
    <Card
      title={title}
      description={description}
      actions={
        <span className="flex items-center gap-2">
          {actions}
          {csv && csv.rows.length > 0 && (
            <IconButton label={`Save ${title.toLowerCase()} as CSV`} onClick={() => saveCsv(name, csv.headings, csv.rows)}>
              <Download />
            </IconButton>
          )}
        </span>
      }
    >
      {empty ? <p className="text-muted text-ui">{empty}</p> : children}
    </Card>
  )
}
