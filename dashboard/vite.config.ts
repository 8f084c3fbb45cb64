import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

const server = `http://localhost:${process.env.PORT ?? 3000}`

/** Modules of many pages that the overview, the first page, does not need. */
const LATER = [
  'list/(?!list-search|filters)',
  'projects/record-',
  'people/(?!send-form|trial-domain|without-domain)',
  'data/(?:segments|events|suppressions)',
  'jobs/export-list',
  'ui/table/(?:data-table|searched-list|table|bounded-list)',
  'ui/dialog/(?:peek-panel|create-dialog|popover)',
  'ui/form/(?:zoned-time|choices|checkbox|command-search|suggestions)',
  'ui/message/message-tabs',
  'ui/page/(?:first-run|link-tabs)',
].join('|')
const inSources = (pattern: string) => new RegExp(`dashboard/src/${pattern}`.replaceAll('/', '[\\\\/]'))

/**
 * Without groups every module that two pages share becomes a file: 59 for the first page. Libraries of the editors, of the canvas of
 * workflows and of the palette, which few pages need, stay with them.
 */
const CHUNKS = [
  {
    name: 'libraries',
    test: /node_modules[\\/](?!@codemirror|@lezer|cmdk|style-mod|crelt|w3c-keyname|@marijn|@tiptap|prosemirror|@xyflow|d3-|zustand|classcat|use-sync-external-store)/,
    minShareCount: 2,
    priority: 4,
  },
  { name: 'sdk', test: /sdk[\\/]src/, minShareCount: 2, priority: 3 },
  {
    name: 'shared',
    test: inSources(`(?!features|content|conditions|editor|design|data/workflows|list/filters|${LATER})`),
    minShareCount: 2,
    priority: 2,
  },
  { name: 'lists', test: inSources(`(?:${LATER})`), minShareCount: 2, priority: 1, includeDependenciesRecursively: false },
]

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss()],
  // The SDK from its sources: its build is only for npm.
  resolve: { conditions: ['@sterna/source', ...defaultClientConditions] },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // Which files a page loads, for the test of its weight.
    manifest: true,
    rolldownOptions: { output: { codeSplitting: { groups: CHUNKS } } },
  },
  server: {
    proxy: {
      // Everything but the dashboard's own pages and Vite's files belongs to the API. Its check against
      // cross-site writes compares the Origin, so that has to be its own.
      '^/(?!app|sign-|forgot-password|reset-password|verify-email|accept-invitation|src/|@|node_modules/|theme\\.js|favicon\\.svg|$)': {
        target: server,
        headers: { origin: server },
      },
    },
  },
})
