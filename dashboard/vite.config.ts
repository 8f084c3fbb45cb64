import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

const server = `http://localhost:${process.env.PORT ?? 3000}`

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss()],
  // The SDK from its sources: its build is only for npm.
  resolve: { conditions: ['@sterna/source', ...defaultClientConditions] },
  build: { outDir: 'dist', emptyOutDir: true },
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
