import { ChevronLeft, ChevronRight } from 'lucide-react'
import { Button } from '../ui/form/button.tsx'
import { SIZES } from './list-search.ts'

type PagerProps = {
  isFirstPage: boolean
  knowsNewer: boolean
  hasMore: boolean
  size: number
  onNewer: () => void
  onOlder: () => void
  onSize: (size: number) => void
  /** Lists by time go from newer to older; others have a previous and a next page. */
  byTime?: boolean
}

/** The page is a cursor in the URL. */
export function Pager({ isFirstPage, knowsNewer, hasMore, size, onNewer, onOlder, onSize, byTime = true }: PagerProps) {
  const [newer, older] = byTime
    ? [knowsNewer || isFirstPage ? 'Newer' : 'Newest', 'Older']
    : [knowsNewer || isFirstPage ? 'Previous' : 'First', 'Next']
  return (
    <nav aria-label="Pages" className="flex flex-wrap items-center justify-between gap-2 px-4 py-2 text-muted text-xs sm:px-6 lg:px-8">
      <label className="inline-flex items-center gap-1.5">
        Rows
        <select
          value={size}
          onChange={(event) => onSize(Number(event.target.value))}
          className="h-7 rounded-md border border-line bg-surface px-1 text-ink pointer-coarse:h-11"
        >
          {SIZES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <span className="inline-flex gap-2">
        <Button size="sm" disabled={isFirstPage} onClick={onNewer}>
          <ChevronLeft aria-hidden="true" />
          {newer}
        </Button>
        <Button size="sm" disabled={!hasMore} onClick={onOlder}>
          {older}
          <ChevronRight aria-hidden="true" />
        </Button>
      </span>
    </nav>
  )
}
